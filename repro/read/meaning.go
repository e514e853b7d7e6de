package read

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/repro/statement"
)

// made has the meanings of containerd's log statements. The key is the format of one of
// the errors that a message wraps. The signatures of bugs are in the catalogue.
var made = map[string]Kind{
	"failed to reserve sandbox name %q: %w":   SandboxNameTaken,
	"failed to reserve container name %q: %w": ContainerNameTaken,

	"failed to reserve container name %q; check if another CreateContainer request is in progress: " +
		"%w": ContainerNameTaken,

	"StopPodSandbox for %q failed":               RemovalFails,
	"RemovePodSandbox for %q failed":             RemovalFails,
	"StopContainer for %q failed":                RemovalFails,
	"RemoveContainer for %q failed":              RemovalFails,
	"cannot delete running task %v: %w":          RemovalFails,
	"failed to setup network for sandbox %q: %w": NetworkFailed,
	"starting containerd":                        ContainerdStarted,
	"containerd successfully booted in %fs":      ContainerdStarted,
	"Start recovering state":                     ContainerdStarted,
	"ExecSync for %q failed":                     ManyExecs,
}

// ofCodes has the meanings of an error's codes.
var ofCodes = map[string]Kind{
	"ENOSPC": FullDisk, "EDQUOT": FullDisk, "EMFILE": NoDescriptors, "ENFILE": NoDescriptors,
	"Canceled": ClientGaveUp, "DeadlineExceeded": ClientGaveUp, "AlreadyExists": IDInUse, "EEXIST": IDInUse,
}

// meanings returns the meanings of a message of containerd.
func meanings(m statement.Match, level string) (all []Kind) {
	if level == "fatal" && len(m.Chain) > 0 && m.Chain[0].Kind == statement.Log {
		return []Kind{ContainerdEnds}
	}
	for _, x := range m.Chain {
		if w := made[x.Format]; w != "" {
			all = append(all, w)
		}
		if x.Kind == statement.Panic {
			all = append(all, ShimPanics)
		}
		if strings.Contains(x.Format, "NRI ") && level != "info" && level != "debug" {
			all = append(all, NRIRefused)
		}
	}
	for _, code := range m.Codes {
		if w := ofCodes[code]; w != "" {
			all = append(all, w)
		}
	}
	if level == "info" || level == "debug" {
		all = slices.DeleteFunc(all, func(w Kind) bool { return kinds[w].sort == Symptom })
	}
	return all
}

// codeOf returns the gRPC code of an error, if it has one.
func codeOf(text string) fact.Facts {
	if m := rpcCode.FindStringSubmatch(text); m != nil {
		return fact.Facts{fact.Code: m[1]}
	}
	return fact.Facts{}
}

var rpcCode = regexp.MustCompile(`rpc error: code = (\w+) desc = `)

// saying is the meaning of a line that another program prints. The forms come from public
// reports.
type saying struct {
	pattern *regexp.Regexp
	what    Kind
}

func says(pattern string, what Kind) saying {
	return saying{regexp.MustCompile(pattern), what}
}

// unit matches the systemd units that run containerd.
const unit = `(?:containerd|k3s|k3s-agent|rke2-server|rke2-agent|k0s\w*|snap\.microk8s\.daemon-containerd)`

// ofTheSystem are lines of systemd and the kernel, in a journal or in the kernel log.
var ofTheSystem = []saying{
	says(`\b`+unit+`\.service: (Main process exited, code=(killed|dumped)|Failed with result '(oom-kill|signal|`+
		`core-dump)')`, ContainerdDied),
	says(`\b`+unit+`\.service: (Main process exited|Failed with result|Deactivated|Scheduled restart)`,
		ContainerdStarted),
	says(`\b(Started|Starting|Stopped|Stopping) (`+unit+`\.service|containerd container runtime|Lightweight `+
		`Kubernetes|Rancher Kubernetes Engine)`, ContainerdStarted),
	says(`\bKilled process \d+,? \(containerd-shim|\boom-kill:.*\btask=containerd-shim`, ShimDied),
	says(`\bKilled process \d+,? \(containerd\)|\boom-kill:.*\btask=containerd,`, ContainerdDied),
	says(`\bKilled process \d+,? \(pause\)|\boom-kill:.*\btask=pause,`, PauseDied),
	says(`\btask (umount|sync|containerd[\w-]*|runc\S*|jbd2/\S+|kworker/\S+):\d+ blocked for more than \d+ seconds`,
		SlowDisk),
	says(`\bReached target .*(Shutdown|Reboot|Power-Off)|systemd-shutdown\[`, HostShutdown),
	says(`\b`+unit+`\.service: ([Ss]tart operation timed out|Failed with result 'timeout')|Failed to start containerd `+
		`container runtime`, BootFails),
	says(`Waiting for process: .*containerd-shim|stop job is running for .*containerd-shim`, HoldsShutdown),
	says(`\bNo space left on device`, FullDisk),
}

// ofClients are lines of kubelet, dockerd, crictl, docker and kubectl, or events of
// Kubernetes.
var ofClients = []saying{
	says(`Sandbox for pod has no IP address`, PodWithoutIP),
	says(`^(Kill container failed|Failed to remove container|Failed to stop sandbox|RemoveContainer from runtime `+
		`service failed|StopPodSandbox from runtime service failed|Container termination failed)|`+
		`KillPodSandboxError|KillContainerError|^FailedKillPod`, RemovalFails),
	says(`\b(cannot|could not) (remove|kill|stop) container`, RemovalFails),
	says(`did not receive an exit event`, EventMissing),
	says(`container with id exists`, IDInUse),
	says(`ErrImagePull|ImagePullBackOff|[Ff]ailed to pull (and unpack )?image|pull access denied`, ImagePull),
	says(`CrashLoopBackOff|certificate has expired|\bx509:|no such host|\bEvicted\b`, OtherTrouble),
}

// ofCommands are typed commands.
var ofCommands = []saying{
	says(`\b(systemctl|service)\b.*\b(restart|start|stop|try-restart)\b.*\b`+unit+`\b|\b(systemctl|service) `+
		`.*\bkill\b.*\bcontainerd\b|\bservice (containerd|k3s) `, ContainerdStarted),
	says(`(\bkill\s+(-9|-KILL|-s\s*(9|KILL|SIGKILL))|\bpkill\s+-(9|KILL)|\bkillall\s+-(9|KILL)|\bsystemctl\s+kill\b`+
		`.*KILL).*\bcontainerd(\)|\s|$|\.service)`, ContainerdDied),
	says(`(\bkill\s+(-9|-KILL|-s\s*(9|KILL|SIGKILL))|\bpkill\s+-(9|KILL)|\bkillall\s+-(9|KILL)).*((?i)\bshim|-shim)`,
		ShimDied),
	says(`(^|sudo\s+|;\s*)(reboot|poweroff|shutdown|systemctl\s+(reboot|poweroff))\b`, HostShutdown),
	says(`(^|sudo\s+)(fio|dd)\s+\S*\b(rw|name|if)=|--rw=`, SlowDisk),
}

// ofSettings are lines of a configuration.
var ofSettings = []saying{says(`\bio\.containerd\.runtime\.v1\.linux\b`, RuntimeV1)}

// say notes the meanings of another program's text, and reports whether there are any.
func (r *reader) say(l line, all []saying, text string, o Observation) (said bool) {
	for _, s := range all {
		if !s.pattern.MatchString(text) {
			continue
		}
		said = true
		o.What = s.what
		r.see(o, l)
		if s.what == ContainerdDied {
			o.What = ContainerdStarted
			r.see(o, l)
		}
	}
	return said
}
