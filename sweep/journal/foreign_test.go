package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// Another user's folder of a sweep has links and FIFOs instead of its files. Root resumes
// it.
func TestAHostileFolderIsNotResumed(t *testing.T) {
	for name, plant := range map[string]func(file, victim string) error{
		"a link":      func(file, victim string) error { return os.Symlink(victim, file) },
		"a hard link": func(file, victim string) error { return os.Link(victim, file) },
		"a FIFO":      func(file, _ string) error { return unix.Mkfifo(file, 0o600) },
		"a device":    func(file, _ string) error { return os.Symlink("/dev/zero", file) },
	} {
		for _, file := range []string{harness.HistoriesFile, fileName} {
			dir, j, _ := begun(t, 3, whole)
			add(t, j, 0)
			must.Succeed(t, j.Close())
			text := must.Get(os.ReadFile(filepath.Join(dir, fileName)))(t)
			victim := filepath.Join(t.TempDir(), "victim")
			text = append(text, "torn"...) // the torn end, which a resume cuts off
			must.Succeed(t, errors.Join(os.WriteFile(victim, text, 0o600), os.Remove(filepath.Join(dir, file)),
				plant(filepath.Join(dir, file), victim)))
			if j, _, _, err := Resume(dir); err == nil {
				t.Errorf("%s in place of %s: it is gone on with", name, file)
				_ = j.Close()
			}
			if got, err := os.ReadFile(victim); err != nil || string(got) != string(text) {
				t.Errorf("%s in place of %s: the victim has %d bytes of %d, %v", name, file, len(got), len(text), err)
			}
		}
	}
}

// A journal of another build is rewritten beside the old one.
func TestATakenOverJournalFollowsNoLink(t *testing.T) {
	dir, j, _ := begun(t, 3, whole)
	must.Succeed(t, j.Close())
	spoilt(t, dir, func(s string) string {
		self := must.Get(BuildID())(t)
		return strings.Replace(s, self, "shimquake of another day", 1)
	})
	victim := filepath.Join(t.TempDir(), "victim")
	must.Succeed(t, errors.Join(os.WriteFile(victim, []byte("victim"), 0o600),
		os.Symlink(victim, filepath.Join(dir, fileName+".new"))))
	if j, _, _, err := Resume(dir); err == nil {
		t.Error("it is gone on with")
		_ = j.Close()
	}
	must.Equal(t, must.Read(t, victim), "victim")
}
