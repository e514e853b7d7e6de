package weave

import "testing"

// Wrappers returns the folder with go.mod and go.sum of each tested release, by its name.
// fixtures/containerd makes them and imports this package.
var Wrappers func(*testing.T) map[string]string
