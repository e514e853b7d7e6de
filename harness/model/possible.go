package model

import (
	"cmp"
	"slices"
	"time"
)

// Op is a call of the client about a container, or a state of the container that
// containerd reported.
type Op struct {
	// From is the time of the request, and To that of the response. If To is zero, there was
	// no response, and the call may take effect at any time after From.
	From, To time.Time
	// Next returns the configurations that are possible after the response, if the operation
	// took effect in the given configuration. It returns none if the response is impossible
	// there.
	Next func(Config) []Config
	// NextDespite returns the configurations with which Follow continues if the response is
	// impossible in every configuration.
	NextDespite func(Config) []Config
}

// Impossible is an operation whose response no possible configuration allows.
type Impossible struct {
	Op     int      // the operation's index
	Before []Config // the configurations that were possible
}

// The limits of Follow: operations in flight at a time, and possible configurations.
const (
	maxInFlight = 16
	maxPossible = 512
)

// possible is a possible configuration. done has a bit for each operation in flight that
// has already taken effect.
type possible struct {
	Config
	done uint16
}

// follower has the state of Follow.
type follower struct {
	ops   []Op
	slots [maxInFlight]int // the indices of the operations in flight; -1 for a free slot
	now   map[possible]bool
}

// Follow goes through the operations on a container in the order of their requests and
// responses, and keeps the set of possible configurations. The container does not exist
// at the beginning. Follow returns the impossible operations. ok is false if one of the
// limits was reached.
func Follow(ops []Op) (found []Impossible, ok bool) {
	type moment struct {
		at    time.Time
		op    int
		reply bool
	}
	var all []moment
	for n, o := range ops {
		all = append(all, moment{o.From, n, false})
		if !o.To.IsZero() {
			all = append(all, moment{o.To, n, true})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.op, b.op))
	})
	f := follower{ops: ops, now: map[possible]bool{{}: true}}
	for n := range f.slots {
		f.slots[n] = -1
	}
	for _, m := range all {
		if !m.reply {
			free := slices.Index(f.slots[:], -1)
			if free < 0 {
				return found, false
			}
			f.slots[free] = m.op
			continue
		}
		before, can := f.reply(m.op)
		if !can {
			found = append(found, Impossible{m.op, before})
		}
		if len(f.now) > maxPossible {
			return found, false
		}
	}
	return found, true
}

// reply keeps the configurations in which an operation can have its response now. If
// there are none, reply returns the configurations before, and continues with the result
// of Op.NextDespite.
func (f *follower) reply(op int) (before []Config, ok bool) {
	slot := slices.Index(f.slots[:], op)
	bit := uint16(1) << slot
	f.slots[slot] = -1
	all := f.closure(slot, op)
	f.now = map[possible]bool{}
	for p := range all {
		if p.done&bit != 0 {
			f.now[possible{p.Config, p.done &^ bit}] = true
		}
	}
	if len(f.now) > 0 {
		return nil, true
	}
	for p := range all {
		if !slices.Contains(before, p.Config) {
			before = append(before, p.Config)
		}
		for _, next := range f.ops[op].NextDespite(p.Config) {
			f.now[possible{next, p.done}] = true
		}
	}
	return before, false
}

// closure returns all configurations that are possible by now. Processes may have ended
// by themselves, and operations in flight may have taken effect, in any order.
func (f *follower) closure(slot, op int) map[possible]bool {
	all, todo := map[possible]bool{}, make([]possible, 0, len(f.now))
	add := func(p possible) {
		if !all[p] && len(all) <= maxPossible {
			all[p] = true
			todo = append(todo, p)
		}
	}
	for p := range f.now {
		add(p)
	}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, next := range p.ends(true) {
			add(possible{next, p.done})
		}
		for n, o := range f.slots {
			if n == slot {
				o = op
			}
			if bit := uint16(1) << n; o >= 0 && p.done&bit == 0 {
				for _, next := range f.ops[o].Next(p.Config) {
					add(possible{next, p.done | bit})
				}
			}
		}
	}
	return all
}
