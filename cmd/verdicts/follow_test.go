package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shimquake/shimquake/progress"
)

// The lines of several processes are shown as one suite. An incomplete line is shown
// when the rest has been written.
func TestFollow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "counts.jsonl")
	add := func(text string) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Error(err)
		}
		_ = f.Close()
	}
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(progress.With(t.Context(), progress.Lines(&out)))
		ended := make(chan error)
		go func() { ended <- follow(ctx, name) }()
		pass(1500 * time.Millisecond) // the file does not exist yet
		add(`{"suite":"umount","begins":true,"specs":4}` + "\n" + `{"suite":"umount"}` + "\n" + `{"suite":"umo`)
		pass(58 * time.Second)
		add(`unt","failed":true}` + "\n")
		pass(10 * time.Second)
		add(`{"suite":"none","begins":true}` + "\n")
		add(`{"suite":"shutdown","begins":true,"specs":9}` + "\n" + `{"suite":"shutdown"}` + "\n")
		pass(2 * time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	want := "shimquake: umount: 1 of 4 specs in 5s, 12.0 a minute, 15s left: 0 failed\n" +
		"shimquake: umount: 2 of 4 specs in 1m5s, 1.8 a minute, 1m5s left: 1 failed\n" +
		"shimquake: shutdown: 1 of 9 specs in 57s, 1.1 a minute, 7m36s left: 0 failed\n" +
		"shimquake: shutdown: 1 of 9 specs in 1m57s, 30.8 an hour, 15m36s left: 0 failed\n"
	if out.String() != want {
		t.Errorf("reported\n%swant\n%s", out.String(), want)
	}
}

func TestFollowBadCounts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "counts.jsonl")
	if err := os.WriteFile(name, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := follow(t.Context(), name); err == nil {
		t.Error("it is no count, and nothing is said")
	}
}

// pass moves the clock of synctest forward.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // no real time passes
