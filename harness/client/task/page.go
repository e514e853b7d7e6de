package task

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// limitMetric is what containerd calls a container's memory limit, of cgroup v1 and v2.
const limitMetric = "container_memory_usage_limit_bytes"

// lookAgain is the time between two looks at the page.
const lookAgain = 100 * time.Millisecond

// serves reports whether containerd serves a page of metrics that is to be looked at.
func (c *Client) serves() bool {
	return c.Case.Workload.Metrics && !c.Quiet && c.Case.Faultless()
}

// askPage looks what the page of containerd's metrics has of a container's memory limit.
func (c *Client) askPage(ctx context.Context, i *harness.Instance, limit int64) {
	is := harness.Meter{At: time.Now(), Page: true, Limit: uint64(limit)}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	// containerd leaves out what a shim does not tell within 2 s (metrics.shimstats).
	err := poll.Until(ctx, lookAgain, func() (bool, error) {
		all, err := c.page(ctx)
		is.Told, is.Others = nil, 0
		for _, m := range all[limitMetric].GetMetric() {
			if label(m, "namespace") != daemon.TaskNamespace || label(m, "container_id") != i.ID {
				is.Others++
				continue
			}
			is.Told = append(is.Told, uint64(m.GetGauge().GetValue()))
		}
		return err != nil || len(is.Told) > 0, err
	})
	if err != nil && ctx.Err() != nil && len(is.Told) == 0 {
		err = nil // it has had time enough, and has said nothing
	}
	c.metered(i, is, err)
}

// page is the page of containerd's metrics, by their names.
func (c *Client) page(ctx context.Context) (all map[string]*dto.MetricFamily, err error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+daemon.MetricsAddress+"/v1/metrics", nil)
	if err != nil {
		return nil, err
	}
	to := &http.Client{Transport: &http.Transport{DialContext: c.Dial, DisableKeepAlives: true}}
	answer, err := to.Do(ask)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("containerd's page of metrics: %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(answer.Body)
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
