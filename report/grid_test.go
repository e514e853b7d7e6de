package report_test

import (
	_ "embed"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

// TestMatrixPage reads the matrix, follows a cell and comes back, by the keyboard.
func TestMatrixPage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, report.HTMLFile)
	must.Succeed(t, report.Write(dir, report.Matrix(tabled(t, dir), nil, dir)))
	b := newTab(t)
	for _, s := range screens {
		b.use(s)
		b.open(file, "")
		const first = `document.querySelector('#grid tbody tr:not([hidden])')`
		const leads = `document.querySelector('#clusters > :is(section, article)')`
		const rows = `document.querySelectorAll('#grid tbody tr:not([hidden])')`
		const differs = `document.querySelectorAll('#grid td.differs')`
		for what, js := range map[string]string{
			"the matrix does not come first":           leads + `.id === 'grid'`,
			"a bug that differs is not shown":          first + `.textContent.startsWith('bug-b')`,
			"one that does not is shown":               rows + `.length === 1`,
			"what differs is not marked":               differs + `.length === 2`,
			"what was expected is not there":           differs + `[0].textContent === 'ok, shown ≠'`,
			"a cell without a history leads somewhere": `!` + differs + `[1].querySelector('a')`,
			"the page is wider than the screen":        `document.documentElement.scrollWidth <= innerWidth`,
		} {
			if !get[bool](b, js) {
				t.Errorf("%s: %s", s.name, what)
			}
		}
	}
	b.use(screens[0])
	b.open(file, "")
	b.do(chromedp.Click(chromedp.CSS("#gridall")))
	b.until(`document.querySelectorAll('#grid tbody tr:not([hidden])').length === 2`)
	b.do(chromedp.Focus(chromedp.CSS(`#grid td.differs a`)), chromedp.KeyEvent(kb.Enter))
	b.until(`location.hash === '#case-2' && document.activeElement.id === 'casename'`)
	if got := get[string](b, `document.querySelector('#case .facts').innerText`); !strings.Contains(got,
		"the catalogue expects ok; v2.3.7: shown in 2 of 2 runs") {
		t.Errorf("a run does not say what it is of: %s", got)
	}
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`document.activeElement.getAttribute('aria-label') === 'bug-b on v2.3.7: ok, shown, differs'`)
}

// spoken is JavaScript that returns the obstacles for a screen reader. These are a
// heading with a skipped level, a control without words, and a duplicate id.
//
//go:embed testdata/spoken.js
var spoken string

// TestPagesCanBeHeard reads each kind of page as a screen reader does.
func TestPagesCanBeHeard(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, report.Write(dir, report.Matrix(tabled(t, dir), nil, dir)))
	b := newTab(t)
	b.use(screens[0])
	for name, from := range map[string]string{"matrix": dir, "answer": answered(t), "cases": written(t)} {
		file := filepath.Join(from, report.HTMLFile)
		b.open(file, "")
		b.do(
			chromedp.Evaluate[chromedp.Void](
				`document.querySelectorAll('details').forEach((d) => { d.open = true; })`,
			),
		)
		must.Equal(t, get[string](b, spoken), "", name)
		b.do(chromedp.Evaluate[chromedp.Void](`location.hash = document.querySelector('#rows a').hash`))
		b.until(`!!document.querySelector('#line .vis-item') && document.activeElement.id === 'casename'`)
		b.do(
			chromedp.Evaluate[chromedp.Void](
				`document.querySelectorAll('details').forEach((d) => { d.open = true; })`,
			),
		)
		b.until(`!!document.querySelector('table.all')`)
		must.Equal(t, get[string](b, spoken), "", "a case of", name)
	}
}

// TestBackToWhereOneWas leaves a case, and is on the row that led to it, in the list as
// it was filtered.
func TestBackToWhereOneWas(t *testing.T) {
	file := filepath.Join(written(t), report.HTMLFile)
	b := newTab(t)
	b.use(screens[0])
	const focused = `document.activeElement.getAttribute('href')`
	b.open(file, "")
	b.do(chromedp.Focus(chromedp.CSS(`#rows a[href="#case-1"]`)), chromedp.KeyEvent(kb.Enter))
	b.until(`/1 of 2/.test(document.querySelector('#case nav')?.textContent)`)
	b.do(chromedp.KeyEvent("j"))
	b.until(`location.hash === '#case-2' && /2 of 2/.test(document.querySelector('#case nav')?.textContent)`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(focused + ` === '#case-2'`)

	b.open(file, "#cluster-reported-wrong")
	b.until(`document.activeElement.id === 'list'`)
	b.do(chromedp.Focus(chromedp.CSS(`#rows a`)), chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.id === 'casename'`)
	b.do(chromedp.Click(chromedp.CSS("#back")))
	b.until(focused + ` === '#case-2' && location.hash === '#cluster-reported-wrong' &&
		document.querySelectorAll('#rows a').length === 1`)

	// a manual choice is kept
	b.open(file, "")
	b.do(chromedp.Evaluate[chromedp.Void](`const s = document.getElementById('cluster');
		s.value = 'shim-left';
		s.dispatchEvent(new Event('input'));`))
	b.do(chromedp.Focus(chromedp.CSS(`#rows a`)), chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.id === 'casename'`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`document.getElementById('cluster').value === 'shim-left' && ` + focused + ` === '#case-1'`)
}
