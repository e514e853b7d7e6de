package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTakeBelongings(t *testing.T) {
	const (
		pod   = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/pod"
		table = "1 0 0:1 / / rw - ext4 / rw\n" +
			"2 1 0:2 / " + pod + "/shm rw - tmpfs shm rw\n3 1 0:3 / /mnt/pod rw - tmpfs x rw\n"
	)
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/1/mountinfo": table, pod + "/hosts": "", pod + "/shm/x": "",
		"var/lib/containerd/other/file": "", "etc/pod": "",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := TakeBelongings(Scene{Root: root}, "pod", "c0")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range b.Have {
		got = append(got, h.ID+" "+h.Path+" "+h.Kind+h.Mount)
	}
	slices.Sort(got)
	want := []string{
		"pod " + pod + " directory", "pod " + pod + "/hosts ", "pod " + pod + "/shm directory",
		"pod " + pod + "/shm tmpfs",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTaken(t *testing.T) {
	dir := Belonging{"pod", File{Path: "/s/pod", Kind: ADirectory}, ""}
	file, shm := Belonging{"pod", File{Path: "/s/pod/x"}, ""}, Belonging{"pod", File{Path: "/s/pod/shm"}, "tmpfs"}
	file.Size = 4
	grown, cut := file, file
	grown.Size, cut.Size = 5, 3
	was := Belongings{Of: []string{"pod"}, Have: []Belonging{dir, file, shm}}
	for name, tt := range map[string]struct {
		is   Belongings
		want int
	}{
		"all is there":          {was, 0},
		"of another one":        {Belongings{Of: []string{"c0"}}, 0},
		"a file has grown":      {Belongings{Of: []string{"pod"}, Have: []Belonging{dir, grown, shm}}, 0},
		"a file has less":       {Belongings{Of: []string{"pod"}, Have: []Belonging{dir, cut, shm}}, 1},
		"the directory is gone": {Belongings{Of: []string{"pod"}}, 1},
		"two of it are gone":    {Belongings{Of: []string{"pod"}, Have: []Belonging{dir}}, 2},
	} {
		if got := Taken(was, tt.is, Places{}); len(got) != tt.want {
			t.Errorf("%s: %d findings, want %d: %v", name, len(got), tt.want, got)
		}
	}
}
