package iopressure

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"

	"github.com/shimquake/shimquake/must"
)

func TestChoose(t *testing.T) {
	blkio := &mountinfo.Info{FSType: "cgroup", VFSOptions: "rw,blkio", Root: "/", Mountpoint: "/sys/fs/cgroup/blkio"}
	pids := &mountinfo.Info{FSType: "cgroup", VFSOptions: "rw,pids", Root: "/", Mountpoint: "/sys/fs/cgroup/pids"}
	inner := &mountinfo.Info{
		FSType:     "cgroup",
		VFSOptions: "rw,blkio",
		Root:       "/docker/1",
		Mountpoint: "/sys/fs/cgroup/blkio",
	}
	both := &mountinfo.Info{FSType: "cgroup", VFSOptions: "rw,net_cls,blkio", Root: "/", Mountpoint: "/cg/net_cls,blkio"}
	v2 := &mountinfo.Info{FSType: "cgroup2", Root: "/", Mountpoint: "/sys/fs/cgroup"}
	beside := &mountinfo.Info{FSType: "cgroup2", Root: "/", Mountpoint: "/sys/fs/cgroup/unified"}
	for name, tc := range map[string]struct {
		mounts      []*mountinfo.Info
		controllers string // "A / B": only B is enabled for children
		want        Mode
		says        string // of the error
	}{
		"v1":              {[]*mountinfo.Info{pids, blkio}, "", V1, ""},
		"hybrid":          {[]*mountinfo.Info{v2, blkio}, "hugetlb", V1, ""},
		"v2":              {[]*mountinfo.Info{v2}, "cpu io memory pids", V2, ""},
		"v2 without io":   {[]*mountinfo.Info{v2}, "cpu memory", "", "/sys/fs/cgroup/cgroup.controllers lacks io:"},
		"v2 without both": {[]*mountinfo.Info{v2, pids}, "", "", "lacks io and memory"},
		"v2, io not enabled": {[]*mountinfo.Info{v2}, "cpu io memory pids / memory pids", "",
			"echo '+io +memory' > /sys/fs/cgroup/cgroup.subtree_control"},
		"v2 that is unreadable": {[]*mountinfo.Info{v2}, "!", "", "unreadable"},
		"v1 without blkio":      {[]*mountinfo.Info{pids, beside}, "hugetlb", "", "mount -t cgroup -o blkio"},
		"nothing":               {nil, "", "", "neither"},
		"in a container":        {[]*mountinfo.Info{inner}, "", "", "run on the host"},
		"an unusual name":       {[]*mountinfo.Info{both}, "", "", "mount it as /cg/blkio"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choose(tc.mounts, func(file string) ([]string, error) {
				if tc.controllers == "!" {
					return nil, errors.New("unreadable")
				}
				have, enabled, differ := strings.Cut(tc.controllers, " / ")
				if differ && filepath.Base(file) == "cgroup.subtree_control" {
					return strings.Fields(enabled), nil
				}
				return strings.Fields(have), nil
			})
			if got.mode != tc.want || (err == nil) != (tc.want != "") {
				t.Fatalf("got %q, %v; want %q", got.mode, err, tc.want)
			}
			if err != nil && (!errors.Is(err, ErrNoController) || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("error %q, want ErrNoController saying %q", err, tc.says)
			}
		})
	}
}

func TestLimitOf(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want int64
		ok   bool
	}{
		"empty":            {"", 0, true},
		"v1":               {"7:0 100\n7:1 4194304\n7:11 5\n", 4194304, true},
		"v1, another only": {"7:11 5\n17:1 6\n", 0, true},
		"v2":               {"7:1 rbps=9 wbps=4194304 riops=max wiops=max\n", 4194304, true},
		"v2, reads only":   {"7:1 rbps=9 wbps=max riops=max wiops=max\n", 0, true},
		"no number":        {"7:1 many\n", 0, false},
		"negative":         {"7:1 -1\n", 0, false},
		"cut short":        {"7:1", 0, true},
	} {
		if got, err := limitOf("7:1", tc.text); got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%s: got %d, %v; want %d", name, got, err, tc.want)
		}
	}
}

func TestLimitOfALine(t *testing.T) {
	for _, mode := range []Mode{V1, V2} {
		for _, bps := range []int64{0, minBPS, 4 << 20} {
			r := Record{Mode: mode, Dev: "7:1"}
			if got, err := limitOf(r.Dev, r.line(bps)); got != bps || err != nil {
				t.Errorf("%s: %q is a limit of %d, %v", mode, r.line(bps), got, err)
			}
		}
	}
}

func TestParseDev(t *testing.T) {
	for s, want := range map[string]device{"7:0": {7, 0}, "259:1048575": {259, 1048575}} {
		must.Equal(t, must.Get(parseDev(s))(t), want, s)
	}
	for _, s := range []string{"", "7", "7:", ":0", "07:1", "7:1 ", "-7:1", "7:1:2", "4096:0", "7:1048576",
		"/dev/loop0"} {
		must.Fail(t, must.ErrorOf(parseDev(s)), s)
	}
}

func TestParseSyscall(t *testing.T) {
	const umount = "166 0x55afbe666ed0 0x2 0x0 0x0 0x7 0x55afbe666fc0 0x7ffd18f2f178 0x7fe7aaf1ab87"
	for name, tc := range map[string]struct {
		text string
		want uint64 // 0: no umount2
		ok   bool
	}{
		"umount2":        {umount, 0x55afbe666ed0, true},
		"another":        {"61 0x1 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f13", 0, true},
		"no system call": {"-1 0x7ffe 0x7f13", 0, true},
		"empty":          {"", 0, false},
		"no number":      {"umount2 0x1", 0, false},
		"no address":     {"166 x", 0, false},
	} {
		if got, inside, err := parseSyscall(tc.text); got != tc.want || inside != (got != 0) || (err == nil) != tc.ok {
			t.Errorf("%s: got %#x, %v, %v; want %#x", name, got, inside, err, tc.want)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add("166 0x55afbe666ed0 0x2\n")
	f.Add("7:1 rbps=9 wbps=4194304 riops=max wiops=max\n")
	f.Fuzz(func(t *testing.T, text string) {
		if address, inside, err := parseSyscall(text); inside && err != nil || !inside && address != 0 {
			t.Errorf("address %#x, %v, %v", address, inside, err)
		}
		if bps, err := limitOf("7:1", text); bps < 0 || err != nil && bps != 0 {
			t.Errorf("limit %d, %v", bps, err)
		}
		if d, err := parseDev(text); err == nil && (d.major < 0 || d.minor < 0) {
			t.Errorf("device %+v", d)
		}
	})
}
