// Package bugs is the catalogue's data: a file each, ID.yaml. Package catalogue knows
// what the fields mean.
package bugs

import "embed"

// Files are all of them.
//
//go:embed *.yaml
var Files embed.FS
