package filing

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// busybox is the image that the steps use.
const busybox = "docker.io/library/busybox:latest"

// prepare returns the commands that make the images and files for the steps.
func prepare(f Filing) string {
	var lines []string
	if strings.Contains(f.Steps, "ctr run") {
		lines = append(lines, "ctr image pull "+busybox)
	}
	if strings.Contains(f.Steps, "crictl") {
		const hostNetwork = `"linux": {"security_context": {"namespace_options": {"network": 2}}}`
		lines = append(lines, "crictl pull "+busybox,
			`echo '{"metadata": {"name": "p", "namespace": "default", "uid": "1"},`, `       `+hostNetwork+`}' >pod.json`,
			`echo '{"metadata": {"name": "c"}, "image": {"image": "`+busybox+`"},`,
			`       "command": ["sleep", "1000"], "linux": {}}' >container.json`)
	}
	if len(lines) == 0 {
		return ""
	}
	return block("Before the steps:", "sh", lines)
}

// steps returns the steps, and names the binaries that the patch changes.
func steps(f Filing) string {
	names := programs(f.Patch)
	install := "Install " + strings.Join(names, " and ") + " with the change below"
	if slices.Contains(names, "containerd") {
		install += ", and start containerd"
	}
	return strings.NewReplacer(
		"Start containerd with the change below", install,
		"start containerd with the change below", strings.ToLower(install[:1])+install[1:],
		"Start containerd again, with the change below", "Stop containerd. "+install,
	).Replace(f.Steps)
}

// patch returns the change of containerd and how to install it.
func patch(f Filing, r Recorded) string {
	if f.Patch == "" {
		return "No change of containerd is needed."
	}
	var targets []string
	for _, program := range programs(f.Patch) {
		targets = append(targets, "bin/"+program)
	}
	made := strings.Join(targets, " ")
	return "To hit the moment each time, apply this change to containerd " + r.Release + ", and install what `make " +
		made + "` builds. The change only waits, fails or exits where a busy or broken node does:\n\n```diff\n" +
		strings.TrimSpace(f.Patch) + "\n```"
}

// ofShim are the folders with code that only the shim and its helpers run.
var ofShim = []string{"cmd/" + runcshim.Binary + "/", "pkg/shim/", "pkg/sys/reaper/"}

// programs returns the binaries that a patch changes.
func programs(patch string) (names []string) {
	for line := range strings.Lines(patch) {
		file, is := strings.CutPrefix(line, "+++ b/")
		if !is {
			continue
		}
		name := "containerd"
		for _, folder := range ofShim {
			if strings.HasPrefix(file, folder) {
				name = runcshim.Binary
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// configuration returns CRI's part of the configuration of the recorded run.
func configuration(r Recorded) string {
	return "The steps work with containerd's default configuration. The recorded run had this one. Its pods used " +
		"the host's network, and its sandbox image was imported from a file:\n\n```toml\n" +
		strings.TrimSpace(r.Config) + "\n```"
}

// machine returns a list about the machine of the recorded run.
func machine(f Filing, r Recorded) string {
	lines := r.Machine
	if f.Run.Workload.API == harness.CRI {
		lines = append(slices.Clone(lines), "client: CRI's gRPC API, called as kubelet does (without crictl)")
	}
	return "- " + strings.Join(lines, "\n- ")
}
