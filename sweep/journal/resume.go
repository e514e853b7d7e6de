package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shimquake/shimquake/sweep/lines"
)

// Resume opens a journal to continue it, and returns its content, as Read does. It
// removes an incomplete last line, which a killed sweep may leave.
func Resume(dir string) (*Journal, Head, []Result, error) {
	name := filepath.Join(dir, fileName)
	f, err := lines.Open(name, 0)
	if err != nil {
		return nil, Head{}, nil, fmt.Errorf("resume: %w", err)
	}
	j := &Journal{file: f}
	fail := func(err error) (*Journal, Head, []Result, error) {
		return nil, Head{}, nil, errors.Join(err, j.Close())
	}
	r := reading{name: name, seen: map[int]bool{}}
	err = f.Read(r.line)
	if err == nil {
		err = r.end()
	}
	if err == nil {
		err = j.openHistories(dir, r.all)
	}
	if err == nil {
		r.all, err = judgedHere(dir, r.head, r.all)
	}
	if err == nil {
		err = j.takeOver(&r)
	}
	if err != nil {
		return fail(err)
	}
	return j, r.head, r.all, nil
}

// takeOver rewrites another build's journal as a journal of this build, with the results
// by this build's rules. All results of the journal then follow the same rules.
func (j *Journal) takeOver(r *reading) error {
	self, err := BuildID()
	if err != nil || r.head.Build == self {
		return err
	}
	r.head.Build = self
	next, err := lines.Open(r.name+".new", os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return fmt.Errorf("take the journal over: %w", err)
	}
	err = next.Add(r.head)
	for _, res := range r.all {
		if err == nil {
			err = next.Add(res)
		}
	}
	if err == nil {
		err = os.Rename(next.Name(), r.name)
	}
	if err != nil {
		return fmt.Errorf("take the journal over: %w", errors.Join(err, next.Close()))
	}
	was := j.file
	j.file = next
	return was.Close()
}
