package read

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/repro/statement"
)

// telling is a text that tells something, wherever it stands. ID, where it has a group of
// that name, is whose.
type telling struct {
	pattern  *regexp.Regexp
	literals []string
	what     What
	// also is reported by the same text.
	also What
}

func tells(what What, pattern string) telling {
	pattern = "(?i)" + pattern
	return telling{pattern: regexp.MustCompile(pattern), literals: literals(pattern), what: what}
}

func (t telling) and(also What) telling {
	t.also = also
	return t
}

// tellings are what containerd, its clients, systemd and the kernel say, as upstream's
// issues quote it. All that fit a line are taken.
var tellings = []telling{
	tells(ExitNotHandled, `failed to handle (container|sandbox)?\s*TaskExit event.*(context deadline exceeded|`+
		`DeadlineExceeded)`),
	tells(ExitNotHandled, `handle (container|sandbox) .*exit.*context deadline exceeded`),
	tells(NameReserved, `failed to reserve (sandbox|container) name`),
	tells(BootFails, `(failed to recover|cri plugin|recover state|failed to load plugin).*failed to reserve`),
	tells(PodWithoutIP, `Sandbox for pod has no IP address`),
	tells(RunningTask, `cannot delete (a )?(running|non stopped|created) (task|process|container)`),
	tells(RunningTask, `(cannot|failed to|unable to) (delete|remove) container .*(running|with an existing task|`+
		`has a? ?task)`),
	tells(RunningTask, `container .* (has|with) (active|existing|a running) task`),
	tells(RemovalFails, `(StopPodSandbox|RemovePodSandbox|RemoveContainer|StopContainer) .*(failed|`+
		`DeadlineExceeded|timed out|error)`),
	tells(RemovalFails, `(KillPodSandboxError|KillContainerError|FailedKillPod|error killing pod)`),
	tells(ClientGaveUp, `(rpc error: code = (DeadlineExceeded|Canceled))|context canceled`),
	tells(ShutdownFailed, `failed to shut ?down (shim|task)|shim.*shutdown.*(error|failed)|shutdown shim.*(error|fail)`),
	tells(ConnectionClosed, `ttrpc: closed|use of closed network connection|connection reset by peer.*shim`),
	tells(ShimDied, `\bshim (process )?(exited unexpectedly|crashed|died|was killed|is dead)\b`),
	tells(ShimDied, `(killed process|oom-kill).*containerd-shim|(kill -9|SIGKILL(ed)?)( of| to)?( the| a)? shim|`+
		`shim\b.{0,20}(SIGKILL|kill -9|oom.?killed)|OOM killer got the shim`),
	tells(ShimDied, `(shim)\S* (process )?(was|got|is) (oom.?)?killed`),
	tells(ShimPanics, `panic: send on closed channel|fatal error: concurrent map|containerd-shim.*panic:`),
	tells(PauseDied, `(killed process|oom-kill|kill(ed)?( -9)?).*\bpause\b|pause (container|process) (died|`+
		`exited|was killed)|sandbox container .*exited unexpectedly|SandboxChanged`),
	tells(ContainerdDied, `containerd\.service: (main process exited, code=(killed|dumped|exited)|`+
		`failed with result)`).and(ContainerdStarted),
	tells(ContainerdDied, `(killed process|oom-kill).*\(?containerd\)?(\s|,|$)`).and(ContainerdStarted),
	tells(ContainerdDied, `containerd (process )?(was|got|is|has been) (oom.?)?(killed|SIGKILLed)|`+
		`containerd (crashe[sd]|panicked|died)|(kill -9|SIGKILL|kill -s (KILL|9))( of| to)? (the )?containerd\b($|`+
		`[^-])|power (cut|loss|failure)`).and(ContainerdStarted),
	tells(ContainerdStarted, `(starting|started|stopped|stopping) containerd( container runtime)?\.?$|`+
		`containerd successfully booted|starting containerd`),
	tells(ContainerdStarted, `(restart(ed|ing)?|upgrad(ed|ing|e)|systemctl restart) (of )?containerd|`+
		`containerd (was |got |is |has been )?(re-?started|upgraded)|restart of containerd`),
	tells(ContainerdStarted, `start recovering state|loading containers|containerd-?init.*recover`),
	tells(ContainerdStayed, `containerd (was |has )?(not|never|n't) (been )?(re-?started|crashed|died)|(no|`+
		`without( a)?) (restart|crash)s? of containerd|up the whole time`),
	tells(NotLoaded, `failed to (load|connect to) (existing )?(shim|task)|loading (task|shim) .*fail|`+
		`unable to load .*shim|shim .*(not|could not be) loaded|cleanup of a? ?shim.*load`),
	tells(SlowDisk, `(io|i/o|disk).{0,12}(pressure|saturat|latency|wait|stall|throttl)|iowait|umount.{0,40}(slow|`+
		`block|hang|took|took too|second|timeout)|blocked for more than \d+ seconds|slow disk|`+
		`disk.{0,20} (was|is|got|very) (very )?slow|fio\b.*(rw|write)|dd if=`),
	tells(SlowDisk, `%util|\d{2,3} ?% util|await .* \d{3,}\.\d|rcu.*stall.*jbd2|jbd2/.* D |writeback`),
	tells(FullDisk, `no space left on device|ENOSPC|disk (is |was |got )?(100 ?% )?full|DiskPressure`),
	tells(NoDescriptors, `too many open files|EMFILE|ENFILE`),
	tells(NRIRefused, `\bnri\b.*(fail|error|refus|reject|denied|timeout|\bdown\b|crash|unavailable|unreachable|`+
		`not (running|answer|respond)|said no)`),
	tells(NetworkFailed, `failed to (setup|set up|create|destroy|teardown|tear down) (the )?(pod )?network|`+
		`plugin type=.* failed \(add\)|cni.*(fail|error)`),
	tells(ManyExecs, `(exec (\w+ )?(probe|storm|loop)|many execs|lots of exec|readiness probe.*exec|ExecSync)`),
	tells(Churn, `(pod|container)s? (churn|in a loop|created and deleted|come and go)|churn|cronjobs?\b`),
	tells(HeldStdout, `(holds?|keeps?|held|inherit(s|ed)?) (its |the |their |open )*(stdout|standard output)|`+
		`nohup|daemoni[sz]ed? child`),
	tells(HostShutdown, `(shutdown|reboot|poweroff)(ing)? (of )?the (host|node|machine)|systemd-shutdown|`+
		`reached target .*(shutdown|reboot)`),
	tells(IDInUse, `container with id exists|(task|container|sandbox) ?"?[\w.-]* ?"?:? ?already exists|`+
		`id .* already (in use|exists)|file exists: .*(io\.containerd|bundle)|`+
		`mkdir .*io\.containerd\.runtime\.v2\.task.*: file exists`),
	tells(StillRunning, `docker (ps|inspect).*(still|running for ?ever|shows? .*running)|(still|remains|`+
		`stuck).{0,20}"?running"?`),
	tells(Descriptors, `(leak(s|ed|ing)?|grow(s|ing)?).{0,30}(file descriptors|\bfds?\b|ptys?)|(file descriptors|`+
		`\bfds?\b|ptmx).{0,30}(leak|grow)`),
	tells(Deadlock, `containerd .{0,30}(hangs?|hung|does not (answer|respond)|unresponsive|deadlock)`),
	tells(EventMissing, `(no|missing|never|lost|without).{0,25}(TaskExit|/tasks/exit|exit event|TaskDelete|`+
		`/tasks/delete|die event)|(TaskExit|/tasks/exit|exit event|TaskDelete|/tasks/delete|die event).{0,25}(never|`+
		`missing|lost|not (sent|received|published|delivered))`),
	tells(Status255, `reason:? unknown\W+exit code:? *255\b`),
	tells(Status255, `(exit ?code|exit status|status)\W{0,4}255\b.{0,60}(instead|but|although|wrong|never|`+
		`really)|255.{0,20}(instead of|although|but)`),
	tells(Status137, `(exit ?code|status|code)\W{0,4}137\b.{0,60}(instead|but|although|wrong|really)|`+
		`137.{0,20}(instead of|although|but)`),
	tells(OrphanShim, `(orphan(ed)?|stray|stale|left-?over|leftover|lingering|dangling|`+
		`leaked) (containerd[- ])?shims?|shims? .{0,30}(leak|left behind|orphan|lingering|remain|never exits?|`+
		`stays?|still (there|running|alive))|(leak(s|ed|ing)?|left behind).{0,20}(containerd[- ])?shims?`),
	tells(GrowingShims, `(number|count) of (containerd[- ])?shims?.{0,30}(grow|increas|rising|climb)|(growing|`+
		`increasing) number of (containerd[- ])?shims?|more and more (containerd[- ])?shims?`),
	tells(HiddenBundle, `io\.containerd\.runtime\.v2\.task/[\w.-]+/\.[\w-]`),
	tells(LiveProcess, `(container|process(es)?|workload)s? .{0,30}(surviv|still runs?|keeps? running|`+
		`kept running).{0,50}(shim)|(shim).{0,60}(container|process(es)?|workload)s? .{0,20}(surviv|still runs?|`+
		`keeps? running|kept running)`),
	tells(ImagePull, `ErrImagePull|ImagePullBackOff|failed to pull (and unpack )?image|`+
		`failed to resolve reference|pull access denied|manifest unknown`),
	tells(OtherTrouble, `CrashLoopBackOff|NodeNotReady|certificate has expired|x509:|no such host|DNS|evicted`),
}

// Logged matches the lines of a log of containerd with its statements, in their order.
func Logged(log string) (all []statement.Match) {
	for line := range strings.Lines(log) {
		if rec, ok := unwrap(strings.TrimSpace(line)); ok && rec.message != "" {
			all = append(all, rec.made())
		}
	}
	return all
}

func (r record) made() statement.Match {
	return statement.KnownTable().Line(r.message, cmp.Or(r.fields["error"], r.fields["err"]))
}

// logged takes a line of a log.
func (r *reader) logged(l line, rec record) {
	whole := rec.message
	for _, field := range []string{"error", "err"} {
		if e := rec.fields[field]; e != "" && !strings.Contains(whole, e) {
			whole += ": " + e
		}
	}
	id := firstID(rec.fields["id"], rec.fields["container-id"], rec.fields["containerID"], rec.fields["sandboxID"], whole)
	if v := rec.fields["version"]; v != "" && strings.Contains(whole, "starting containerd") {
		r.version(v, l, true)
	}
	made := rec.made()
	r.tell(l, whole, id, rec.fields["namespace"], cmp.Or(rec.level, "notice"), made)
	if strings.Contains(whole, "ot found") && id == "" {
		id = firstID(r.command)
	}
	if strings.HasPrefix(rec.program, "crictl") || rec.program == "" && rec.level == "fatal" && id != "" {
		if of := firstID(r.command); of != "" && strings.Contains(whole, "ot found") {
			r.unknown[of] = l.n
		}
	}
	if rec.fields != nil || rec.level != "" || isKnownProgram(rec.program) {
		r.see(Observation{What: LoggedMessage, ID: id, Text: callerr.Comparable(whole), Raw: bounded(whole),
			Level: rec.level,
			Made:  made}, l)
		r.understand(l)
	} else {
		r.rest(l)
	}
	if rec.program == "kubelet" || rec.fields["pod"] != "" {
		r.votes(Kubelet, 2)
	}
	if rec.program == "dockerd" {
		r.votes(Dockerd, 2)
	}
}

// longestRaw is how much of a message is kept.
const longestRaw = 600

func bounded(text string) string {
	if len(text) > longestRaw {
		return strings.ToValidUTF8(text[:longestRaw], "")
	}
	return text
}

func isKnownProgram(p string) bool {
	return strings.HasPrefix(p, "containerd") || p == "dockerd" || p == "kubelet" || p == "kernel" ||
		strings.HasPrefix(p, "systemd")
}

// tell takes what a text tells.
func (r *reader) tell(l line, text, id, namespace, level string, made statement.Match) (reported bool) {
	harmless := level == "info" || level == "debug"
	small := strings.ToLower(text)
	for _, t := range tellings {
		if harmless && kinds[t.what].sort == Symptom || !t.matches(text, small) {
			continue
		}
		reported = true
		r.understand(l)
		r.see(Observation{What: t.what, ID: id, Namespace: namespace, InWords: level == "", Made: made}, l)
		if t.also != "" {
			r.see(Observation{What: t.also, ID: id, Namespace: namespace, InWords: level == "", Made: made}, l)
		}
	}
	return reported
}

// uuid is kubelet's word for a pod, of which the end looks like an id.
var uuid = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

var anID = regexp.MustCompile(`\b[0-9a-f]{64}\b|\b[0-9a-f]{12,13}\b`)

// firstID is the first id in some texts.
func firstID(texts ...string) string {
	for _, t := range texts {
		if id := anID.FindString(uuid.ReplaceAllString(t, "")); id != "" {
			return id
		}
	}
	for _, t := range texts[:max(len(texts)-1, 0)] { // fields, whose value is an id whatever it looks like
		if t != "" {
			return t
		}
	}
	return ""
}
