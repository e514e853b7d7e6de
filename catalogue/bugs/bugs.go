// Package bugs has the catalogue's data: a file ID.yaml for each bug. Package catalogue
// documents the fields.
package bugs

import "embed"

// Files are the files of all bugs.
//
//go:embed *.yaml
var Files embed.FS
