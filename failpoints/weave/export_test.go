package weave

import "testing"

// Wrappers are folders with go.mod and go.sum of the build of each tested release, by its
// name. fixtures/containerd makes them, which imports this package.
var Wrappers func(*testing.T) map[string]string
