package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// A test's binary lists its modules like any other.
func TestBill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	npm := filepath.Join(t.TempDir(), "package.json")
	if err := os.WriteFile(npm, []byte(`{"dependencies": {"chart": "1.2.3"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	var out, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&out, &again} {
		if err := run(w, "v1.0.0+dirty", npm, []string{self, self}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the second bill differs")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(&out, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got := bom.Metadata.Timestamp; got != "2001-09-09T01:46:40Z" {
		t.Errorf("its time is %s", got)
	}
	if got := bom.Metadata.Component.PackageURL; !strings.HasSuffix(got, "/sbom@v1.0.0%2Bdirty") {
		t.Errorf("it is of %s", got)
	}
	var urls []string
	for _, c := range *bom.Components {
		urls = append(urls, c.PackageURL)
	}
	std := "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go")
	if !slices.IsSorted(urls) || !slices.Contains(urls, "pkg:npm/chart@1.2.3") || !slices.Contains(urls, std) ||
		!strings.Contains(strings.Join(urls, " "), "pkg:golang/github.com/CycloneDX/cyclonedx-go@v") {
		t.Errorf("it has %q", urls)
	}
	if got := len(slices.Compact(slices.Clone(urls))); got != len(urls) {
		t.Errorf("some are twice: %q", urls)
	}
}

func TestRefuses(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	for _, tc := range []struct {
		name, version string
		binaries      []string
		want          string
	}{
		{"nothing", "v1", nil, "usage"},
		{"no version", "", []string{"/x"}, "usage"},
		{"no program of Go's", "v1", []string{"main.go"}, "main.go"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := run(&bytes.Buffer{}, tc.version, "", tc.binaries); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("run = %v, want an error with %q", err, tc.want)
			}
		})
	}
}
