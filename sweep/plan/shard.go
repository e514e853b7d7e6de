package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is a part of a plan: every Of-th case, beginning with the I-th. The zero value is
// the whole plan.
type Shard struct {
	I  int `json:"i"` // from 1
	Of int `json:"of"`
}

// ParseShard reads i/n. An empty text is the whole plan.
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{1, 1}, nil
	}
	i, of, ok := strings.Cut(s, "/")
	a, err1 := strconv.Atoi(i)
	b, err2 := strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || a < 1 || b < a {
		return Shard{}, fmt.Errorf("--shard %q: want i/n with i from 1 to n, such as 2/4", s)
	}
	return Shard{a, b}, nil
}

// Has reports whether the case with that index in the plan belongs to the shard.
func (s Shard) Has(i int) bool { return s.Of <= 1 || i%s.Of == s.I-1 }

// Count returns how many of a plan's n cases belong to the shard.
func (s Shard) Count(n int) int {
	if s.Whole() {
		return n
	}
	return (n - s.I + s.Of) / s.Of
}

// Check returns an error if the shard has no case of a plan that has some, because a
// sweep of no cases would succeed.
func (s Shard) Check(p Plan) error {
	if s.Whole() || s.Count(len(p.Specs)) > 0 {
		return nil
	}
	return fmt.Errorf("shard %s has no case: the plan has only %d; use at most that many shards", s, len(p.Specs))
}

// Whole reports whether the shard is the whole plan.
func (s Shard) Whole() bool { return s.Of <= 1 }

func (s Shard) String() string { return fmt.Sprintf("%d/%d", max(s.I, 1), max(s.Of, 1)) }
