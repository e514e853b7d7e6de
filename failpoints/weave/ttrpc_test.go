package weave

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/shimquake/shimquake/must"
)

// ttrpcVersions are the ttrpc versions of all releases under test, each with one of its
// wrapper modules.
func ttrpcVersions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for release, wrapper := range Wrappers(t) {
		f := must.Get(readModFile(filepath.Join(wrapper, "go.mod")))(t)
		i := slices.IndexFunc(f.Require, func(r *modfile.Require) bool { return r.Mod.Path == TtrpcModule })
		if i < 0 {
			t.Fatalf("%s does not require %s", release, TtrpcModule)
		}
		versions[f.Require[i].Mod.Version] = wrapper
	}
	if len(versions) < 2 {
		t.Fatalf("found ttrpc versions %v: the test looks at nothing", versions)
	}
	return versions
}

// TestEveryRelease weaves and compiles the ttrpc of every release, as a build of that
// release would.
func TestEveryRelease(t *testing.T) {
	must.TakeLong(t, "downloads and compiles ttrpc with its dependencies, for each version")
	for version, wrapper := range ttrpcVersions(t) {
		t.Run(version, func(t *testing.T) {
			workspace := t.TempDir()
			for _, name := range []string{"go.mod", "go.sum"} {
				data := must.Get(os.ReadFile(filepath.Join(wrapper, name)))(t)
				must.Succeed(t, os.WriteFile(filepath.Join(workspace, name), data, 0o644))
			}
			original := must.Get(ModuleDir(t.Context(), workspace, TtrpcModule))(t)
			must.Succeed(t, Apply(t.Context(), workspace, "../probe", Ttrpc()))
			sum := must.Get(os.ReadFile(filepath.Join(wrapper, "go.sum")))(t)
			must.Equal(t, must.Get(os.ReadFile(filepath.Join(workspace, "go.sum")))(t), sum, "weaving changed go.sum")
			woven := filepath.Join(workspace, "woven", filepath.FromSlash(TtrpcModule))
			checkLines(t, original, woven)
			out, err := Go(t.Context(), workspace, "build", "-mod=readonly", "-trimpath", TtrpcModule)
			must.Succeed(t, err, out)
		})
	}
}

// checkLines checks that the three files have the same lines except for one each, and
// that no other file changed.
func checkLines(t *testing.T, original, woven string) {
	t.Helper()
	changed := map[string]int{}
	must.Succeed(t, filepath.WalkDir(woven, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "shimquake_probe.go" {
			return err
		}
		rel, err := filepath.Rel(woven, path)
		if err != nil {
			return err
		}
		was, err1 := os.ReadFile(filepath.Join(original, rel))
		is, err2 := os.ReadFile(path)
		before, after := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
		if len(before) != len(after) {
			t.Errorf("%s had %d lines and has %d", rel, len(before), len(after))
			return errors.Join(err1, err2)
		}
		for i := range before {
			if before[i] != after[i] {
				changed[rel]++
			}
		}
		return errors.Join(err1, err2)
	}))
	if len(changed) != 3 || changed["services.go"] != 1 || changed["client.go"] != 1 || changed["server.go"] != 1 {
		t.Errorf("changed lines: %v, want one each in services.go, client.go and server.go", changed)
	}
}

// A minimal ttrpc with each site once.
var miniature = map[string]string{
	"services.go": "package ttrpc\nfunc (s *serviceSet) call() {\n\ts.unaryInterceptor(ctx, unmarshal, info, " +
		"method)\n}\n",
	"client.go": "package ttrpc\nfunc (c *Client) Call(req, resp any) error {\n\treturn c.interceptor(ctx, creq, " +
		"cresp, info, c.dispatch)\n}\n",
	"server.go": "package ttrpc\nfunc (s *Server) newConn(conn net.Conn) *serverConn {\n\treturn nil\n}\n",
}

func TestTtrpcSites(t *testing.T) {
	for name, tt := range map[string]struct {
		file, old, new string // a change of a future release
		want           string // in the error; "" for none
	}{
		"as known": {},
		"server call renamed": {"services.go", "unaryInterceptor", "intercept",
			"services.go: want a call of s.interceptor"},
		"server call doubled":  {"services.go", "\ts.", "\ts.interceptor(1, 2, 3, 4)\n\ts.", "found it 2 times"},
		"client call renamed":  {"client.go", "c.interceptor", "c.invoke", "client.go: want in (*Client).Call"},
		"client request gone":  {"client.go", "req, resp", "in, out", "client.go: want in (*Client).Call"},
		"newConn renamed":      {"server.go", "newConn", "addConn", "server.go: want the head of (*Server).newConn"},
		"connection retyped":   {"server.go", "net.Conn", "*net.UnixConn", "server.go: want the head of"},
		"not Go":               {"server.go", "package", "packet", "server.go"},
		"file moved elsewhere": {"client.go", "", "", "client.go: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, src := range miniature {
				if file == tt.file {
					if tt.old == "" {
						continue
					}
					src = strings.ReplaceAll(src, tt.old, tt.new)
				}
				must.Succeed(t, os.WriteFile(filepath.Join(dir, file), []byte(src), 0o644))
			}
			err := weaveTtrpc(dir)
			if tt.want == "" {
				must.Succeed(t, err)
				out, err := exec.Command("grep", "-h", "shimquake", filepath.Join(dir, "services.go"),
					filepath.Join(dir, "client.go"), filepath.Join(dir, "server.go")).Output()
				want := "\tshimquakeServe(s.unaryInterceptor)(ctx, unmarshal, info, method)\n" +
					"\treturn shimquakeCall(c, req)(ctx, creq, cresp, info, c.dispatch)\n" +
					"func (s *Server) newConn(conn net.Conn) *serverConn { conn = shimquakeTrack(conn);\n"
				if err != nil || string(out) != want {
					t.Errorf("woven lines (%v):\n%s\nwant:\n%s", err, out, want)
				}
				return
			}
			if !errors.Is(err, ErrSite) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want ErrSite with %q", err, tt.want)
			}
		})
	}
}
