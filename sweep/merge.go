package sweep

import (
	"fmt"
	"strings"
)

// Merge puts the journals of all shards of one plan together, as if one machine had run it.
func Merge(dirs []string) (Head, []Result, error) {
	var whole Head
	var all []Result
	from := map[Shard]string{}
	for _, dir := range dirs {
		h, results, err := ReadJournal(dir)
		if err != nil {
			return whole, nil, err
		}
		if len(from) == 0 {
			whole = h
		}
		if h.Plan.Digest != whole.Plan.Digest {
			return whole, nil, fmt.Errorf("%s has another plan (%s) than %s (%s): give all shards the same plan with --plan FILE", dir, h.Plan.Digest, dirs[0], whole.Plan.Digest)
		}
		if h.Judge != whole.Judge {
			return whole, nil, fmt.Errorf("%s: %w: %s judged it, and %s judged %s; build all of them from one commit with one Go", dir, ErrOtherJudge, h.Judge, whole.Judge, dirs[0])
		}
		if h.Shard.Of != whole.Shard.Of {
			return whole, nil, fmt.Errorf("%s is shard %s, %s is shard %s: they do not fit together", dir, h.Shard, dirs[0], whole.Shard)
		}
		if other, ok := from[h.Shard]; ok {
			return whole, nil, fmt.Errorf("%s and %s are both shard %s", other, dir, h.Shard)
		}
		from[h.Shard] = dir
		all = append(all, results...)
	}
	var missing []string
	for i := 1; i <= whole.Shard.Of; i++ {
		if s := (Shard{i, whole.Shard.Of}); from[s] == "" {
			missing = append(missing, s.String())
		}
	}
	if len(missing) > 0 {
		return whole, nil, fmt.Errorf("shards are missing: %s", strings.Join(missing, ", "))
	}
	whole.Shard = Shard{1, 1}
	return whole, all, nil
}
