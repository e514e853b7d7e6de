package statement

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/shimquake/shimquake/fixtures/containerd"
)

const source = `package a

var ErrGone = errors.New("it is gone")

type problem struct{ name string }

func (p *problem) Error() string { return fmt.Sprintf("problem of %q", p.name) }

func (s *service[T]) do(ctx context.Context) error {
	log.G(ctx).WithError(err).WithFields(log.Fields{"id": id, "pid": pid}).Warnf("cannot " + "do %s", what)
	log.G(ctx).WithField("k", v).Debug("done")
	fmt.Println("nobody logs this")
	t.Fatal("nor this")
	errors.Wrapf(err, "stat %s", path)
	errors.Wrap(errdefs.ErrNotFound, "no such task")
	fmt.Errorf("read %s: %v", path, readErr)
	fmt.Errorf("task %s: %w", id, errdefs.ErrFailedPrecondition)
	errgrpc.ToGRPCf(errdefs.ErrUnavailable, "shim %d", pid)
	return status.Errorf(codes.Internal, "100%% of %s", id)
}
`

func TestExtract(t *testing.T) {
	got, err := Extract(fstest.MapFS{
		"core/a.go":            {Data: []byte(source)},
		"core/a_test.go":       {Data: []byte("no Go")},
		"core/a_windows.go":    {Data: []byte("no Go")},
		"vendor/b/b.go":        {Data: []byte("no Go")},
		"integration/c/c.go":   {Data: []byte("no Go")},
		"core/readme.md":       {Data: []byte("no Go")},
		"core/api/types.pb.go": {Data: []byte("no Go")},
	}, "v9.9.9")
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind Kind, function, format string) Statement {
		return Statement{Func: function, Kind: kind, Format: format, Releases: []string{"v9.9.9"}}
	}
	want := []Statement{
		of(Error, "service.do", "100%% of %s"),
		of(Error, "", "it is gone"),
		of(Error, "service.do", "no such task: %w"),
		of(Error, "problem.Error", "problem of %q"),
		of(Error, "service.do", "read %s: %w"),
		of(Error, "service.do", "shim %d: %w"),
		of(Error, "service.do", "stat %s: %w"),
		of(Error, "service.do", "task %s: %w"),
		of(Log, "service.do", "cannot do %s"),
		of(Log, "service.do", "done"),
	}
	got = Merge(got)
	if !slices.EqualFunc(got, want, func(a, b Statement) bool {
		return compare(a, b) == 0 && slices.Equal(a.Releases, b.Releases)
	}) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if _, err := Extract(fstest.MapFS{"a.go": {Data: []byte("no Go")}}, "v9.9.9"); err == nil {
		t.Error("Extract returned no error for a file that cannot be parsed")
	}
}

func TestMerge(t *testing.T) {
	of := func(release, function string) []Statement {
		return []Statement{{Func: function, Kind: Log, Format: "x", Releases: []string{release}}}
	}
	got := Merge(of("v2.0.0", "f"), of("v1.7.10", "f"), of("v1.7.9", "g"))
	want := []Statement{
		{Func: "f", Kind: Log, Format: "x", Releases: []string{"v1.7.10", "v2.0.0"}},
		{Func: "g", Kind: Log, Format: "x", Releases: []string{"v1.7.9"}},
	}
	if !slices.EqualFunc(got, want, func(a, b Statement) bool {
		return compare(a, b) == 0 && slices.Equal(a.Releases, b.Releases)
	}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestWrittenIsFresh compares statements.json.gz, which `make docs` writes, with the
// source of the tested releases.
func TestWrittenIsFresh(t *testing.T) {
	for _, release := range containerd.ReleasesToTest() {
		dir, err := containerd.SourceDir(t.Context(), release)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Extract(os.DirFS(dir), release)
		if err != nil {
			t.Fatal(err)
		}
		var got []Statement
		for _, s := range Known() {
			if slices.Contains(s.Releases, release) {
				s.Releases = []string{release}
				got = append(got, s)
			}
		}
		want = Merge(want)
		if len(got) != len(want) {
			t.Errorf("%s: the file has %d statements, and the source has %d: run make docs", release, len(got), len(want))
		}
		for _, s := range want {
			if !slices.ContainsFunc(got, func(o Statement) bool { return compare(s, o) == 0 }) {
				t.Fatalf("%s: the file lacks %+v: run make docs", release, s)
			}
		}
	}
}
