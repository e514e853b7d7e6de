package compare

import "path"

// shimName is a shim's binary in words, "containerd-shim-runc-v2".
func shimName(argv []string) string {
	if len(argv) == 0 {
		return "shim"
	}
	return path.Base(argv[0])
}
