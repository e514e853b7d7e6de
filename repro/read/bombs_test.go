package read

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// zeros is a reader that never ends.
type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

// The program reads a part of an endless report. It refuses a bundle that would exhaust
// the machine's memory.
func TestReportsAreBounded(t *testing.T) {
	zipped := func(size int64) io.Reader {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		files := tar.NewWriter(z)
		err := files.WriteHeader(&tar.Header{Name: "containerd.log", Size: size, Mode: 0o600})
		if err == nil {
			_, err = io.Copy(files, io.LimitReader(&zeros{}, size))
		}
		if err = errors.Join(err, files.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	n := strings.Repeat
	for name, tt := range map[string]struct {
		from io.Reader
		says string // "" if the report is read
	}{
		"without an end":  {&zeros{}, ""},
		"a long line":     {strings.NewReader(n("x", 100<<20)), ""},
		"many lines":      {strings.NewReader(n("\n", maxLines+100)), ""},
		"a bundle's size": {bytes.NewReader(bundle(t, n(" ", 17<<20)+"{}")), "report.json is larger than 16 MiB"},
		"suspects":        {bytes.NewReader(bundle(t, `{"suspects":[{}`+n(",{}", 300_000)+"]}")), "200000 values"},
		"levels":          {bytes.NewReader(bundle(t, `{"suspects":`+n("[", 20_000)+n("]", 20_000)+"}")), "max depth"},
		"zeros in a zip":  {zipped(80 << 20), "the bundle is larger than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := From(tt.from)
			runtime.ReadMemStats(&after)
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%.300v; want %q", err, tt.says)
			}
			if err == nil && r.Cut == 0 {
				t.Error("the report does not say that a part was not read")
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 1024 {
				t.Errorf("it took %d MiB", took)
			}
		})
	}
}
