package report_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var (
	shots = flag.String("shots", "", "folder for pictures of a report, for people to look at")
	shown = flag.String("report", "", "the report.html that pictures are taken of, and that is timed")
)

// tab is one of a headless Chromium.
type tab struct {
	*testing.T
	ctx context.Context
}

// newTab begins a Chromium. Without one the test is skipped: it is no part of what the
// suites need.
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
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// until waits until an expression of JavaScript is true.
func (b tab) until(js string) {
	b.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](js)); err != nil {
		b.Fatalf("%s: %v", js, err)
	}
}

// get is the value of an expression of JavaScript.
func get[T any](b tab, js string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		b.Fatalf("%s: %v", js, err)
	}
	return v
}

// open opens a page anew, and waits until its list stands.
func (b tab) open(file, hash string) {
	b.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+file+hash))
	b.until(`!!document.body.dataset.ready`)
}

// screen is one that a reader may have.
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
	scheme := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: map[bool]string{false: "light", true: "dark"}[s.dark]}
	b.do(chromedp.EmulateViewport(s.width, s.height, mobile))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{scheme}})
	if err != nil {
		b.Fatal(err)
	}
}

// picture keeps what is on the screen, or, where it is whole, all of the page.
func (b tab) picture(name string, whole bool) {
	b.Helper()
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(b.ctx, take)
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
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
		first := get[string](b, `(document.querySelector('.cluster a[href^="#case"]') || document.querySelector('#rows a')).hash`)
		b.open(*shown, first)
		b.until(`!!document.querySelector('#line .vis-item')`)
		b.picture(s.name+"-case", true)
	}
}
