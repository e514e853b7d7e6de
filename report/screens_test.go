package report_test

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

// looks returns the obstacles for a reader of a page, one on each line. An element may
// be wider than the screen. Text may have too little contrast on its background: WCAG
// 2.1 requires 4.5, or 3 for large text, after fading. On a phone, a target may be
// smaller than 24 px (WCAG 2.2).
//
//go:embed testdata/looks.js
var looks string

// TestScreens reads the list and a case on each screen: nothing is cut off, too pale or
// too small.
func TestScreens(t *testing.T) {
	dir := written(t)
	file := filepath.Join(dir, report.HTMLFile)
	if *shown != "" {
		file = *shown
	}
	b := newTab(t)
	for _, s := range screens {
		b.use(s)
		b.open(file, "")
		if got := get[bool](b, `matchMedia('(prefers-color-scheme: dark)').matches`); got != s.dark {
			t.Fatalf("%s: dark is %v", s.name, got)
		}
		call := fmt.Sprintf("%s(%v, %d)", looks, s.phone, s.width)
		for _, what := range []string{"list", "case"} {
			if what == "case" {
				b.open(file, get[string](b, `document.querySelector('#rows a').hash`))
				b.until(`!!document.querySelector('#line .vis-item')`)
			}
			for _, trouble := range strings.FieldsFunc(get[string](b, call), func(r rune) bool { return r == '\n' }) {
				t.Errorf("%s, %s: %s", s.name, what, trouble)
			}
		}
	}
	// A control: looks must find planted obstacles.
	b.use(screens[2])
	b.open(file, "")
	b.do(chromedp.Evaluate[chromedp.Void](`document.body.insertAdjacentHTML('beforeend',
		'<p style="width:900px">wide</p><p style="color:#aaa;background:#fff">pale</p>' +
		'<p id="faded" style="opacity:.5;color:#555;background:#fff">faded</p>' +
		'<button style="width:9px;height:9px;min-height:0;padding:0">small</button>')`))
	got := get[string](b, looks+"(true, 390)")
	for _, want := range []string{"px wider", "contrast of 2.3", "p#faded has a contrast of", "button is 9 by 9 px"} {
		must.Contain(t, got, want)
	}
}
