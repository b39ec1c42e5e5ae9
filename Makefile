# Every target calls a script that works without make.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: help demo test test-unit test-property test-engine test-guest bench lint install uninstall
help: ## the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16
demo: ## a real pod with two devices; removes what it made
	$(SUDO) packaging/demo
test: ## every test, with real podman, crun and runc
	$(SUDO) tests/run
test-unit: ## seconds, needs no root
	tests/run unit
test-property: ## what must hold for any input
	tests/run property
test-engine: ## real podman, crun and runc
	$(SUDO) tests/run engine
test-guest: ## with systemd, in an emulated Debian 13 machine
	$(SUDO) tests/run guest
matrix: ## the README's table of stacks, anew from a run on each
	$(SUDO) tests/run engine -k test_live.py
	PYTHONPATH=tests/engine .work/venv/bin/python -m bed.matrix
bench: ## how long the hook takes, against the bare interpreter
	$(SUDO) tests/run bench -s
lint: ## ruff, mypy --strict, shellcheck
	tests/run lint
install: ## into /usr and /etc
	$(SUDO) packaging/install
uninstall: ## out of there again
	$(SUDO) packaging/install --uninstall
