package journal

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/sweep/plan"
)

// Merge puts the journals of all shards of one plan together, as if one machine had run
// it.
func Merge(dirs []string) (Head, []Result, error) {
	var whole Head
	var all []Result
	from := map[plan.Shard]string{}
	for _, dir := range dirs {
		h, results, err := Read(dir)
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
		from[h.Shard] = dir
		all = append(all, results...)
	}
	var missing []string
	for i := 1; i <= whole.Shard.Of; i++ {
		if s := (plan.Shard{I: i, Of: whole.Shard.Of}); from[s] == "" {
			missing = append(missing, s.String())
		}
	}
	if len(missing) > 0 {
		return whole, nil, fmt.Errorf("shards are missing: %s", strings.Join(missing, ", "))
	}
	whole.Shard = plan.Shard{I: 1, Of: 1}
	return whole, all, nil
}

// fits reports why a shard cannot be merged with the first one, in the folders dir and
// first.
func (h Head) fits(one Head, dir, first string) error {
	switch {
	case h.Plan.Digest != one.Plan.Digest:
		return fmt.Errorf("%s has another plan (%s) than %s (%s): give all shards the same plan with --plan FILE",
			dir, h.Plan.Digest, first, one.Plan.Digest)
	case h.Shard.Of != one.Shard.Of:
		return fmt.Errorf("%s is shard %s, %s is shard %s: they do not fit together", dir, h.Shard, first, one.Shard)
	}
	return nil
}
