// Package bugs is the catalogue's data: a file each, ID.yaml. It imports nothing, so that
// the oracle may read what it must excuse (`residue`) from the file in which all else of
// that bug stands. Package catalogue knows what the fields mean.
package bugs

import "embed"

// Files are all of them.
//
//go:embed *.yaml
var Files embed.FS
