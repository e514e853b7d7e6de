package journal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/sweep/plan"
)

// LostError is the error for shards whose journal is missing or unfinished. The other
// shards alone do not give the sweep's report.
type LostError struct {
	// Of is the number of the plan's shards. Missing has the shards without a journal,
	// and Cut the shards with an unfinished one.
	Of      int
	Missing []plan.Shard
	Cut     []CutShard
}

// CutShard is a shard that was interrupted before all its cases had run.
type CutShard struct {
	Shard    plan.Shard
	Dir      string
	Done, Of int // cases
}

func (e *LostError) Error() string {
	var says []string
	for _, s := range e.Missing {
		says = append(says, fmt.Sprintf("shard %s is missing in the given folders", s))
	}
	for _, c := range e.Cut {
		says = append(says, fmt.Sprintf("shard %s was interrupted after %d of its %d cases: continue with "+
			"shimquake sweep --resume %s", c.Shard, c.Done, c.Of, c.Dir))
	}
	return fmt.Sprintf("%d of %d shards are missing or incomplete, so there is no report: %s",
		len(e.Missing)+len(e.Cut), e.Of,
		strings.Join(says, "; "))
}

// Merge joins the journals of all shards of one plan, as if one machine had run the whole
// plan. It returns a *LostError if a journal is missing or unfinished.
func Merge(dirs []string) (Head, []Result, error) {
	var whole Head
	var all []Result
	lost := &LostError{}
	from := map[plan.Shard]string{}
	for _, dir := range dirs {
		h, results, err := Read(dir)
		if h.Matrix {
			err = errors.Join(err, h.CheckSweep(dir))
		}
		if err != nil {
			return whole, nil, err
		}
		if len(from) == 0 {
			whole = h
		}
		if err := h.fits(whole, dir, dirs[0]); err != nil {
			return whole, nil, err
		}
		if other, ok := from[h.Shard]; ok {
			return whole, nil, fmt.Errorf("%s and %s are both shard %s", other, dir, h.Shard)
		}
		if from[h.Shard] = dir; h.Other != nil && len(from) > 1 {
			whole.Other.Cases = append(whole.Other.Cases, h.Other.Cases...)
			whole.Other.Sampled += h.Other.Sampled
		}
		all = append(all, results...)
		if n := h.Done(results); n < h.Planned() {
			lost.Cut = append(lost.Cut, CutShard{h.Shard, dir, n, h.Planned()})
		}
	}
	lost.Of = max(whole.Shard.Of, 1)
	for i := 1; i <= whole.Shard.Of; i++ {
		if s := (plan.Shard{I: i, Of: whole.Shard.Of}); from[s] == "" {
			lost.Missing = append(lost.Missing, s)
		}
	}
	if len(lost.Missing)+len(lost.Cut) > 0 {
		return whole, nil, lost
	}
	whole.Shard = plan.Shard{I: 1, Of: 1}
	return whole, all, nil
}

// fits returns an error if a shard cannot be merged with the first one. The shard is in
// the folder dir, and the first one in the folder first.
func (h Head) fits(one Head, dir, first string) error {
	switch {
	case h.Plan.Digest != one.Plan.Digest:
		return fmt.Errorf("%s has another plan (%s) than %s (%s): run all shards with the same plan (--plan FILE)",
			dir, h.Plan.Digest, first, one.Plan.Digest)
	case (h.Other == nil) != (one.Other == nil) || h.Other != nil && h.Other.Subject != one.Other.Subject:
		return fmt.Errorf("%s and %s do not compare with the same containerd", dir, first)
	case h.Shard.Of != one.Shard.Of:
		return fmt.Errorf("%s is shard %s, and %s is shard %s: a merge needs shards i/n with the same n",
			dir, h.Shard, first, one.Shard)
	}
	return nil
}
