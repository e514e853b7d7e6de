package report_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

var (
	shots = flag.String("shots", "", "folder for pictures of a report, for people to look at")
	shown = flag.String("report", "", "the report.html that pictures are taken of, and that is timed")
)

// tab is a tab of a headless Chromium.
type tab struct {
	*testing.T
	ctx context.Context
}

// newTab starts a Chromium. Without one the test is skipped, because the suites do not
// need it.
func newTab(t *testing.T) tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed (apt-get install chromium): the page is not driven")
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless,
		chromedp.NoFirstRun, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(2*time.Minute))
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 8*time.Minute)
	t.Cleanup(stop)
	return tab{t, ctx}
}

func (b tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	must.Succeed(b, chromedp.Do(b.ctx, steps...))
}

// lostContext is the browser's error if the page has just been replaced.
const lostContext = -32000

// until waits until an expression of JavaScript is true, of the page that stands by then.
func (b tab) until(js string) {
	b.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](js))
	for answer := (*cdproto.Error)(nil); errors.As(err, &answer) && answer.Code == lostContext && b.ctx.Err() == nil; {
		_, err = chromedp.Run(b.ctx, chromedp.Poll[bool](js))
	}
	if err != nil {
		seen, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.hash + ' ' + document.activeElement.id + ' ' +
			document.getElementById('search').value + ' | ' + document.getElementById('shown').textContent`))
		b.Fatalf("%s: %v; the page is at %s", js, err, seen)
	}
}

// get is the value of an expression of JavaScript.
func get[T any](b tab, js string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js))
	must.Succeed(b, err, js)
	return v
}

// open loads a page again, and waits until its list is shown.
func (b tab) open(file, hash string) {
	b.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+file+hash))
	b.until(`!!document.body.dataset.ready`)
}

// screen is a size of a reader's screen.
type screen struct {
	name          string
	width, height int64
	phone, dark   bool
}

var screens = []screen{
	{name: "desktop-light", width: 1360, height: 900},
	{name: "desktop-dark", width: 1360, height: 900, dark: true},
	{name: "phone-light", width: 390, height: 844, phone: true},
	{name: "phone-dark", width: 390, height: 844, phone: true, dark: true},
}

func (b tab) use(s screen) {
	b.Helper()
	mobile := func(p *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
		p.Mobile = s.phone
	}
	value := map[bool]string{false: "light", true: "dark"}[s.dark]
	scheme := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: value}
	b.do(chromedp.EmulateViewport(s.width, s.height, mobile))
	must.Get(chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{scheme}}))(b)
}

// picture keeps a screenshot of the visible part of the page, or of the whole page if
// whole is set.
func (b tab) picture(name string, whole bool) {
	b.Helper()
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	must.Succeed(b, os.WriteFile(filepath.Join(*shots, name+".png"), must.Get(chromedp.Run(b.ctx, take))(b), 0o644))
}

// TestPictures takes pictures of a report's list, and of the case that its first cluster
// leads to.
func TestPictures(t *testing.T) {
	if *shots == "" || *shown == "" {
		t.Skip("pictures are taken with -shots FOLDER -report FILE")
	}
	b := newTab(t)
	for _, s := range screens {
		b.use(s)
		b.open(*shown, "")
		t.Logf("%s: ready after %s ms", s.name, get[string](b, `document.body.dataset.ready`))
		b.picture(s.name+"-list", false)
		first := get[string](b, `(document.querySelector('.cluster a[href^="#case"]') ||
			document.querySelector('#rows a')).hash`)
		b.open(*shown, first)
		b.until(`!!document.querySelector('#line .vis-item')`)
		b.picture(s.name+"-case", true)
	}
}

// TestPageIsUsable clicks, searches and follows permalinks as a reader does.
func TestPageIsUsable(t *testing.T) {
	dir := written(t)
	file := filepath.Join(dir, report.HTMLFile)
	b := newTab(t)
	b.use(screens[0])

	b.open(file, "")
	got := get[string](b, `document.querySelector('#counts').textContent`)
	must.Contain(t, got, "2 violated of 3 cases: 1 held, 0 invalid", "counts")
	got = get[string](b, `document.querySelector('#clusters .cluster').textContent`)
	must.Contain(t, got, "a shim is left", "what is new comes first")
	if n := get[int](b, `document.querySelectorAll('#rows a').length`); n != 2 {
		t.Errorf("%d cases are listed, of 2 that are violated", n)
	}

	// search, by the keyboard
	b.do(chromedp.KeyEvent("/"))
	b.until(`document.activeElement.id === 'search'`)
	b.do(chromedp.KeyEvent(kb.Backspace)) // the driver sends the character apart from its key
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "KNOWN-<case>"))
	b.until(`document.querySelectorAll('#rows a').length === 1`)
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "nothing has this"))
	b.until(`document.querySelectorAll('#rows a').length === 0`)

	// the cluster leads to its case, whose timeline has the marks
	b.open(file, "")
	b.do(chromedp.Click(chromedp.CSS(`.cluster a[href="#case-1"]`)))
	b.until(`document.querySelectorAll('#line .vis-item.left').length > 0`)
	for what, js := range map[string]string{
		"the fault is not marked":      `document.querySelectorAll('#line .vis-item.fault').length >= 2`,
		"no run without the fault":     `document.querySelectorAll('#line .vis-label.without').length > 0`,
		"nothing says where they part": `/ends with 0/.test(document.querySelector('.parts').textContent)`,
		"what matters is not first": `/^Without the fault, shim 27 ends/.test(
			document.querySelector('.lead').textContent)`,
		"no legend of the fault":  `!!document.querySelector('.legend .key-fault')`,
		"no command to replay it": `/shimquake run/.test(document.querySelector('.command').textContent)`,
		"no link to the evidence": `!!document.querySelector('a[href="evidence/x"]')`,
	} {
		if !get[bool](b, js) {
			t.Error(what)
		}
	}

	// zoom, marks and the way back, by the keyboard
	const axis = `[...document.querySelectorAll('#axis span')].map((s) => s.textContent).join(' ')`
	before := get[string](b, axis)
	b.do(chromedp.Focus(chromedp.CSS("#line")), chromedp.KeyEvent("+"))
	b.until(axis + ` !== ` + strconv.Quote(before))
	b.do(chromedp.KeyEvent("n"))
	b.until(`/Task.Shutdown/.test(document.querySelector('#detail').textContent)`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#line').scrollIntoView({behavior: 'instant'})`))
	b.until(`(({top, bottom}) => top >= 0 && bottom <= innerHeight)(
		document.querySelector('#detail').getBoundingClientRect())`)
	b.do(chromedp.SendKeys(chromedp.CSS("#find"), "nothing has this"))
	b.until(`[...document.querySelectorAll('#line .vis-item:not(.vis-background)')]
		.every((i) => i.classList.contains('faint')) &&
		getComputedStyle(document.querySelector('#line .vis-item.without.faint .vis-item-content')).visibility === 'hidden'`)
	b.do(chromedp.SendKeys(chromedp.CSS("#find"), strings.Repeat(kb.Backspace, len("nothing has this"))))
	b.until(`!document.querySelector('#line .faint')`)
	b.do(chromedp.Click(chromedp.CSS("#without")))
	b.until(`document.querySelectorAll('#line .vis-label.without').length === 0`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector('#overview').hidden`)

	// permalinks: to a case, to a cluster, and to an id that does not exist
	b.open(file, "#case-2")
	b.until(`document.querySelectorAll('#line .vis-item.wrong').length > 0`)
	b.open(file, "#cluster-reported-wrong")
	b.until(`document.querySelectorAll('#rows a').length === 1`)
	b.open(file, "#case-99")
	b.until(`/no case case-99/.test(document.querySelector('#case').textContent)`)
}

// TestManyCasesOpenFast opens a report of many cases. It counts the browser's processor
// time until the list is complete, because the waiting time depends on the machine.
func TestManyCasesOpenFast(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, report.HTMLFile)
	if *shown != "" {
		file = *shown
	} else if err := report.Write(dir, report.Data{Title: "many", Made: began, Cases: many(t, 2500)}); err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.use(screens[0])
	b.open(file, "") // the first page also starts the renderer
	must.Get(chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{}))(t)
	b.open(file, "")
	metrics := must.Get(chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{}))(t)
	work := 0.0
	for _, m := range metrics.Metrics {
		if m.Name == "TaskDuration" {
			work = m.Value
		}
	}
	t.Logf("%d cases: ready %s ms after the click, of which the page worked %.2f s",
		get[int](b, `Object.values(JSON.parse(document.getElementById('head').textContent).counts).reduce((a, b) => a + b)`),
		get[string](b, `document.body.dataset.ready`), work)
	if work > 2 {
		t.Errorf("the browser works %.2f s until the list stands", work)
	}
	if *shown == "" { // all of them, the worst first
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#outcome').value = '';
			document.querySelector('#outcome').dispatchEvent(new Event('input'))`))
		b.until(`document.querySelector('#shown').textContent === '2500 cases' &&
			[...document.querySelectorAll('#rows .tag')].slice(0, 100).every((t) => t.textContent === 'violated')`)
	}
	b.do(chromedp.Navigate("file://" + file + "#case-2000"))
	b.until(`!!document.querySelector('#line .vis-item')`)
}

// The page of a held run begins with its outcome, and explains only what it shows.
func TestPageOfAHeldRun(t *testing.T) {
	dir := t.TempDir()
	held := func(yield func(report.Case, error) bool) {
		v := ran("held")
		yield(report.Case{ID: "case-1", Verdict: v, Workload: "task", Replay: report.Replay(v)}, nil)
	}
	must.Succeed(t, report.Write(dir, report.Data{Title: "held", Made: began, Cases: held}))
	b := newTab(t)
	b.use(screens[0])
	b.open(filepath.Join(dir, report.HTMLFile), "#case-1")
	got := get[string](b, `document.querySelector('#counts').textContent`)
	if !strings.HasPrefix(got, "1 held of 1 case: 0 violated") {
		t.Errorf("counts: %s", got)
	}
	b.until(`!!document.querySelector('#line .vis-item')`)
	if got = get[string](b, `document.querySelector('.keys').textContent`); strings.Contains(got, "Grey rows") {
		t.Errorf("there is no run without the fault: %s", got)
	}
}

// many are n cases, every tenth of which is violated.
func many(t *testing.T, n int) iter.Seq2[report.Case, error] {
	t.Helper()
	return func(yield func(report.Case, error) bool) {
		for i := range n {
			v := ran(fmt.Sprintf("case-of-many-%d", i))
			if i%10 == 0 {
				v = leaked(v.Name)
			}
			if !yield(report.Case{ID: fmt.Sprintf("case-%d", i), Verdict: v, Workload: "task", Replay: report.Replay(v)}, nil) {
				return
			}
		}
	}
}
