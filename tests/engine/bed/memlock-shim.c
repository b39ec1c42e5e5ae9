/* crun before 1.9 raises RLIMIT_MEMLOCK before it loads a device program and fails where that is not allowed (no CAP_SYS_RESOURCE).
 * bpf(2) needs no locked memory since Linux 5.11, so here the call does nothing. For the test bed only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/resource.h>

typedef int setter(__rlimit_resource_t, const struct rlimit *);
typedef int setter64(__rlimit_resource_t, const struct rlimit64 *);

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return resource == RLIMIT_MEMLOCK ? 0 : ((setter *)dlsym(RTLD_NEXT, "setrlimit"))(resource, limit);
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return resource == RLIMIT_MEMLOCK ? 0 : ((setter64 *)dlsym(RTLD_NEXT, "setrlimit64"))(resource, limit);
}
