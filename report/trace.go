package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/shimquake/shimquake/quote"
)

// TraceFile is the name of a case's trace in its folder of evidence.
const TraceFile = "trace.json"

// traceEvent is an event of the Chrome trace format, which Perfetto opens. Times are in
// µs.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteTrace writes a timeline in the Chrome trace format. Each lane is a thread. If
// calls of a lane overlap, the lane has several threads, because the format allows only
// nested slices in a thread.
func WriteTrace(w io.Writer, name string, t Timeline) error {
	events := []traceEvent{{Name: "process_name", Phase: "M", PID: 1, Args: map[string]any{"name": name}}}
	rows := map[int][]time.Duration{} // for each lane, the times at which its rows are free again
	for _, i := range t.Items {
		lane := i.Lane
		if lane < 0 {
			lane = len(t.Lanes)
		}
		row := 0
		for row < len(rows[lane]) && rows[lane][row] > i.At {
			row++
		}
		if row == len(rows[lane]) {
			rows[lane] = append(rows[lane], 0)
			events = append(events, rowNames(t, lane, row)...)
		}
		rows[lane][row] = i.At + i.Took
		e := traceEvent{Name: i.Text, Cat: string(i.Mark), Phase: "X", TS: micros(i.At), Dur: micros(i.Took), PID: 1,
			TID: thread(lane, row)}
		if i.Took == 0 {
			e.Phase, e.Scope = "i", "t"
		}
		if i.More != "" {
			e.Args = map[string]any{"says": i.More}
		}
		events = append(events, e)
	}
	text, err := json.Marshal(map[string]any{"displayTimeUnit": "ms", "traceEvents": events})
	if err == nil {
		_, err = w.Write(quote.JSON(text))
	}
	if err != nil {
		return fmt.Errorf("write a trace: %w", err)
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// thread returns the thread number for a row of a lane.
func thread(lane, row int) int { return lane*1000 + row + 1 }

func rowNames(t Timeline, lane, row int) []traceEvent {
	name := "harness"
	if lane < len(t.Lanes) {
		name = t.Lanes[lane].Name
	}
	if row > 0 {
		name = fmt.Sprintf("%s (%d)", name, row+1)
	}
	tid := thread(lane, row)
	return []traceEvent{
		{Name: "thread_name", Phase: "M", PID: 1, TID: tid, Args: map[string]any{"name": name}},
		{Name: "thread_sort_index", Phase: "M", PID: 1, TID: tid, Args: map[string]any{"sort_index": tid}},
	}
}
