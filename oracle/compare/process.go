package compare

import "path"

// shimName returns a shim's binary, "containerd-shim-runc-v2".
func shimName(argv []string) string {
	if len(argv) == 0 {
		return "shim"
	}
	return path.Base(argv[0])
}
