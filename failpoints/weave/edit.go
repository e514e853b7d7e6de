package weave

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Edit replaces the bytes [Start, End) of a file by Text. With Start = End it inserts.
type Edit struct {
	Start, End int
	Text       string
}

// File is a parsed source file and the edits to make in it.
type File struct {
	Name  string // relative to the module's folder
	AST   *ast.File
	Fset  *token.FileSet
	src   []byte
	edits []Edit
}

// ParseFile parses a file of a module's folder.
func ParseFile(dir, name string) (*File, error) {
	src, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSite, err)
	}
	f := &File{Name: name, Fset: token.NewFileSet(), src: src}
	f.AST, err = parser.ParseFile(f.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSite, err)
	}
	return f, nil
}

// Insert puts text before pos.
func (f *File) Insert(pos token.Pos, text string) { f.Replace(pos, pos, text) }

// Replace replaces the text from pos to end.
func (f *File) Replace(pos, end token.Pos, text string) {
	f.edits = append(f.edits, Edit{f.Fset.Position(pos).Offset, f.Fset.Position(end).Offset, text})
}

// Write makes the edits in the file beneath dir.
func (f *File) Write(dir string) error {
	out, err := ApplyEdits(f.src, f.edits)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return os.WriteFile(filepath.Join(dir, f.Name), out, 0o644)
}

// ApplyEdits makes edits in a source text. Edits must not overlap and must not move a
// line; insertions at the same place keep their order.
func ApplyEdits(src []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("edit of bytes %d to %d overlaps another or leaves the file", e.Start, e.End)
		}
		if strings.Contains(e.Text, "\n") || bytes.Contains(src[e.Start:e.End], []byte("\n")) {
			return nil, fmt.Errorf("edit of bytes %d to %d would move lines", e.Start, e.End)
		}
		out.Write(src[at:e.Start])
		out.WriteString(e.Text)
		at = e.End
	}
	out.Write(src[at:])
	return out.Bytes(), nil
}
