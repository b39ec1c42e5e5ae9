"""What is asked for: annotations of a running container, and limits of kube YAML on their way to become annotations.

Pure: text and mappings in, requests and text out.
"""
