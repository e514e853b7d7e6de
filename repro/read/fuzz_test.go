package read

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func reports(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("../../fixtures/reports/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("%v, %d reports", err, len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
}

// FuzzText checks that any text is read, that each of its lines counts once, and that
// facts refer to existing lines.
func FuzzText(f *testing.F) {
	reports(f)
	f.Add("\x00\xff\x1b[31m{\"level\":\n\r\r\n> > ```\nTASK PID STATUS\n-1 -1 -1\n")
	f.Add(`time="t" level=error msg="` + strings.Repeat("\\\"\n", 20))
	f.Fuzz(func(t *testing.T, text string) {
		r := Text(text)
		if r.Understood > r.Lines || r.Others != r.Lines-r.Understood || len(r.Other) > r.Others {
			t.Errorf("%d lines, %d understood, %d others, %d of them reported", r.Lines, r.Understood, r.Others, len(r.Other))
		}
		last := strings.Count(text, "\n") + 1
		for _, o := range r.Seen {
			if len(o.Lines) == 0 || o.Lines[0] < 1 || o.Lines[0] > last || o.Count < 1 {
				t.Errorf("%+v of %d lines", o, last)
			}
			if _, ok := kinds[o.What]; !ok {
				t.Errorf("%s is no kind", o.What)
			}
		}
		for _, v := range r.Versions {
			if !releaseForm.MatchString(v.Release) {
				t.Errorf("version %q", v.Release)
			}
		}
	})
}

// FuzzFrom checks that a text like a bundle is read or refused.
func FuzzFrom(f *testing.F) {
	f.Add(bundle(f, `{"suspects":[{"kind":"shim","id":"x","namespace":"k8s.io","facts":["task=none"],"version":"v`+
		`2.3.7"}]}`))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Add([]byte("plain"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := From(bytes.NewReader(data))
		if err == nil && r.Understood > r.Lines {
			t.Errorf("%+v", r)
		}
	})
}

func bundle(t testing.TB, report string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	files := tar.NewWriter(zip)
	err := files.WriteHeader(&tar.Header{Name: "shimquake-audit/report.json", Mode: 0o600, Size: int64(len(report))})
	if err == nil {
		_, err = files.Write([]byte(report))
	}
	for _, e := range []error{err, files.Close(), zip.Close()} {
		if e != nil {
			t.Fatal(e)
		}
	}
	return b.Bytes()
}

func TestBundleOfAnAudit(t *testing.T) {
	r, err := From(bytes.NewReader(bundle(t, `{"suspects":[
		{"kind":"shim","id":"x","pid":7,"namespace":"k8s.io","facts":["task=none","bundle=gone"],"version":"v2.3.7"},
		{"kind":"bundle","id":"y","namespace":"k8s.io","facts":["bundle=hidden"],"version":"v2.3.7"}]}`)))
	if err != nil || !r.Has(OrphanShim) || !r.Has(HiddenBundle) || r.Version() != "v2.3.7" || r.Client != Kubelet {
		t.Errorf("%+v, %v", r, err)
	}
	whole := bundle(t, `{"suspects":[{"kind":"shim","id":"x"}]}`)
	for n := 3; n < len(whole); n++ {
		_, err := From(bytes.NewReader(whole[:n]))
		if err == nil || !strings.Contains(err.Error(), "the bundle is cut off") {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, err := From(bytes.NewReader(bundle(t, `{"suspects":7}`))); err == nil {
		t.Error("a report.json of another form was accepted")
	}
}
