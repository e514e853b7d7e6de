((phone, width) => {
	const found = new Set(), name = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') +
		[...e.classList].map((c) => '.' + c).join('');
	const over = document.documentElement.scrollWidth - width;
	if (over > 0) found.add('the page is ' + over + ' px wider than the screen');
	const rgba = (text) => {
		const n = text.match(/[\d.]+/g).map(Number);
		const scale = text.startsWith('color(') ? 255 : 1;
		return {c: n.slice(0, 3).map((x) => x * scale), a: n.length > 3 ? n[3] : 1};
	};
	const over2 = (top, below) => top.c.map((x, i) => x * top.a + below[i] * (1 - top.a));
	const ground = (e) => {
		const all = [];
		for (; e; e = e.parentElement) {
			all.push(rgba(getComputedStyle(e).backgroundColor));
			if (all.at(-1).a === 1) break;
		}
		return all.reverse().reduce((below, c) => over2(c, below), [255, 255, 255]);
	};
	const light = (c) => {
		const [r, g, b] = c.map((x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const faded = (color, e) => {
		for (; e; e = e.parentElement) color.a *= getComputedStyle(e).opacity;
		return color;
	};
	const seen = (e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true}) &&
		e.getClientRects().length > 0;
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let t; (t = texts.nextNode());) {
		const e = t.parentElement;
		if (!t.data.trim() || !seen(e) || /^(script|style)$/i.test(e.tagName)) continue;
		const style = getComputedStyle(e), back = ground(e);
		const a = light(over2(faded(rgba(style.color), e), back)), b = light(back);
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		if (contrast < (large ? 3 : 4.5)) found.add(name(e) + ' has a contrast of ' + contrast.toFixed(1));
	}
	if (phone) for (const e of document.querySelectorAll('button, input, select, summary')) {
		const box = e.getBoundingClientRect();
		if (seen(e) && Math.min(box.width, box.height) < 24) {
			found.add(name(e) + ' is ' + Math.round(box.width) + ' by ' + Math.round(box.height) + ' px');
		}
	}
	return [...found].slice(0, 20).join('\n');
})
