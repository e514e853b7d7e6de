package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shimquake/shimquake/must"
)

var dist = flag.String("dist", "", "test what scripts/dist has made in this folder")

// scripts/dist ends with this test, which checks the files of a release.
func TestDist(t *testing.T) {
	if *dist == "" {
		t.Skip("nothing is made: make dist runs it with -dist")
	}
	version := os.Getenv("VERSION")
	want := []string{"SHA256SUMS"}
	for _, arch := range []string{"amd64", "arm64"} {
		binary := "shimquake-" + version + "-linux-" + arch
		want = append(want, binary, binary+".cdx.json")
		debs, err := filepath.Glob(filepath.Join(*dist, "shimquake_*_"+arch+".deb"))
		if err != nil || len(debs) != 1 {
			t.Fatalf("%s: the packages are %q, %v", arch, debs, err)
		}
		want = append(want, filepath.Base(debs[0]))
		t.Run(arch, func(t *testing.T) {
			isStatic(t, filepath.Join(*dist, binary), arch)
			isBill(t, filepath.Join(*dist, binary))
			isPackage(t, debs[0], filepath.Join(*dist, binary))
		})
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, tree(t, *dist)); diff != "" {
		t.Errorf("what is wanted (-) and there (+):\n%s", diff)
	}
	areSums(t, want)
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

// isStatic says that a binary is of the architecture, needs no library, and names no
// folder of this machine.
func isStatic(t *testing.T, path, arch string) {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer func() { _ = f.Close() }()
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; f.Machine != want {
		t.Errorf("%s is for %s", path, f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is not static", path)
		}
	}
	here := must.Get(filepath.Abs("../.."))(t)
	if bytes.Contains(bytesOf(t, path), []byte(here+"/")) {
		t.Errorf("%s names %s", path, here)
	}
}

// isBill checks that an SBOM belongs to this binary and names its parts. They are a
// module of its own, a module of an embedded program, Go, and the library of the page.
func isBill(t *testing.T, binary string) {
	t.Helper()
	var bill struct {
		Metadata struct {
			Component struct {
				Hashes []struct{ Content string }
			}
		}
		Components []struct{ Purl string }
	}
	must.Succeed(t, json.Unmarshal(bytesOf(t, binary+".cdx.json"), &bill))
	sum := fmt.Sprintf("%x", sha256.Sum256(bytesOf(t, binary)))
	if got := bill.Metadata.Component.Hashes; len(got) != 1 || got[0].Content != sum {
		t.Errorf("the bill of %s is of %v", binary, got)
	}
	for _, want := range []string{"pkg:golang/github.com/spf13/cobra@", "pkg:golang/github.com/containerd/cgroups/v3@",
		"pkg:golang/std@", "pkg:npm/vis-timeline@"} {
		found := false
		for _, c := range bill.Components {
			found = found || strings.HasPrefix(c.Purl, want)
		}
		if !found {
			t.Errorf("the bill of %s has no %s", binary, want)
		}
	}
}

// isPackage says that a Debian package has what scripts/install makes, all of root's and
// of the commit's time.
func isPackage(t *testing.T, path, binary string) {
	t.Helper()
	want := installed("share/zsh/vendor-completions")
	for _, name := range []string{"CHANGELOG.md", "SECURITY.md", "copyright"} {
		want = append(want, "share/doc/shimquake/"+name)
	}
	slices.Sort(want)
	var got []string
	members := debMembers(t, path)
	eachFile(t, members["data.tar.gz"], func(h *tar.Header, data []byte) {
		if h.Uid != 0 || h.Gid != 0 || strconv.FormatInt(h.ModTime.Unix(), 10) != os.Getenv("SOURCE_DATE_EPOCH") {
			t.Errorf("%s: %s is of %d:%d, from %s", path, h.Name, h.Uid, h.Gid, h.ModTime)
		}
		if h.Typeflag == tar.TypeDir {
			return
		}
		name := strings.TrimPrefix(h.Name, "./usr/")
		got = append(got, name)
		if name == "bin/shimquake" && !bytes.Equal(data, bytesOf(t, binary)) {
			t.Errorf("%s has another binary", path)
		}
	})
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: what is wanted (-) and there (+):\n%s", path, diff)
	}
	var control []string
	eachFile(t, members["control.tar.gz"], func(h *tar.Header, _ []byte) {
		control = append(control, strings.TrimPrefix(h.Name, "./"))
	})
	for _, name := range []string{"control", "md5sums", "prerm", "postrm"} {
		if !slices.Contains(control, name) {
			t.Errorf("%s: no %s among %q", path, name, control)
		}
	}
}

// debMembers reads an ar archive (ar(5)), which a Debian package is.
func debMembers(t *testing.T, path string) map[string][]byte {
	t.Helper()
	const magic, header = "!<arch>\n", 60
	data, members := bytesOf(t, path), map[string][]byte{}
	if !bytes.HasPrefix(data, []byte(magic)) {
		t.Fatalf("%s is no package", path)
	}
	for data = data[len(magic):]; len(data) > header; {
		name := strings.TrimRight(string(data[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(data[48:58])))
		if err != nil || header+size > len(data) {
			t.Fatalf("%s: the size of %q: %v", path, name, err)
		}
		members[name] = data[header : header+size]
		data = data[min(header+size+size%2, len(data)):]
	}
	return members
}

func eachFile(t *testing.T, archive []byte, look func(*tar.Header, []byte)) {
	t.Helper()
	z := must.Get(gzip.NewReader(bytes.NewReader(archive)))(t)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must.Succeed(t, err)
		data := must.Get(io.ReadAll(r))(t)
		look(h, data)
	}
}

// areSums says that SHA256SUMS has the checksum of each other file.
func areSums(t *testing.T, files []string) {
	t.Helper()
	var want strings.Builder
	for _, name := range files {
		if name != "SHA256SUMS" {
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(bytesOf(t, filepath.Join(*dist, name))), name)
		}
	}
	if diff := cmp.Diff(want.String(), string(bytesOf(t, filepath.Join(*dist, "SHA256SUMS")))); diff != "" {
		t.Errorf("SHA256SUMS (+):\n%s", diff)
	}
}
