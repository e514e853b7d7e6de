package read

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestDump(t *testing.T) {
	files, _ := filepath.Glob(os.Getenv("DUMP"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		r := Text(string(b))
		fmt.Println("=====", f, r.Lines, r.Understood, r.Client, r.Versions)
		for _, o := range r.Seen {
			fmt.Println("  ", o.What, o.Sort(), o.Class(), o.Facts, o.ID, o.Text, o.Lines, o.Count)
		}
		for _, o := range r.Other {
			fmt.Println("   ?", o.N, o.Text)
		}
	}
}
