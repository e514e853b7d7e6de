(() => {
	const seen = [...document.body.querySelectorAll('*')].filter((e) => e.checkVisibility()), bad = [];
	const of = (what) => seen.filter((e) => e.matches(what));
	let last = 0;
	for (const h of of('h1, h2, h3, h4')) {
		const level = Number(h.tagName[1]);
		if (level > last + 1) bad.push('no heading leads to: ' + h.textContent);
		last = level;
	}
	for (const e of of('a, button, input, select, nav, main, [tabindex="0"]')) {
		const by = document.getElementById(e.getAttribute('aria-labelledby'));
		const own = e.matches('a, button') ? e.textContent : e.matches('main') ? e.id : '';
		const words = e.getAttribute('aria-label') || (by ? by.textContent : own);
		if (!/[a-z0-9]{2}|^.?[0-9a-z]$/i.test(words)) bad.push('without words: ' + e.outerHTML.slice(0, 80));
	}
	for (const e of of('td:first-child'))
		if (e.closest('table').querySelectorAll('th[scope=col]').length === 0) bad.push('a table without heads');
	const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
	for (const id of new Set(ids.filter((x, i) => ids.indexOf(x) !== i))) bad.push('twice: #' + id);
	if (of('h1').length !== 1 || of('main').length !== 1) bad.push('not one h1 and one main');
	return bad.join('; ');
})()
