import { describe, expect, it } from 'vitest';
import { htmlOf } from '../../src/workflow/run/documents/html-report.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

describe('W-3: the report is a page, too', () => {
  it('with the items, what was created and what agents wrote', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    const { result, report } = await runOver(backlog, {
      process: ({ item }) => ({ status: item.id === 'BUG-001' ? 'succeeded' : 'failed', message: 'a | b' }),
      summary: () => 'All **well**.',
    });
    const page = backlog.read(`agent_runs/${result.run}/session_report.html`);
    expect(page).toContain(`<title>Run ${result.run}</title>`);
    expect(page).toContain('<td>BUG-001</td>');
    expect(page).toMatch(/<td>failed in processing<\/td>\s*<td>a \| b<\/td>/);
    expect(page).toContain('All <strong>well</strong>.');
    for (const [, heading = ''] of report.matchAll(/^## (.*)$/gm)) expect(page).toContain(`<h2>${heading}</h2>`);
  });

  it.each([
    ['<script>alert(1)</script>', '&lt;script&gt;'],
    ['a <img src=x onerror=alert(1)> b', '&lt;img src=x onerror=alert(1)&gt;'],
    ['[x](javascript:alert(1))', '<p>x</p>'],
    ['[x](JAVASCRIPT:alert(1))', '<p>x</p>'],
    ['[x](data:text/html,y)', '<p>x</p>'],
    ['[x](ftp://http://example.com)', '<p>x</p>'],
    ['[x](http://example.com/)', '<a href="http://example.com/" rel="noreferrer">x</a>'],
    ['![](https://example.com/p.png)', '>https://example.com/p.png</a>'],
    ['- a **b** c', '<li>a <strong>b</strong> c</li>'],
    ['![x](https://example.com/p.png)', '<a href="https://example.com/p.png" rel="noreferrer">x</a>'],
    ['![a"><b](https://example.com/)', '>a&quot;&gt;&lt;b</a>'],
    ['[x](https://example.com/"onclick="y)', 'x'],
    ['a <pre> <meta/http-equiv=refresh/content=0> b', '&lt;meta/http-equiv=refresh'],
    ['<kbd> <svg/onload=alert(1)>', '&lt;svg/onload'],
    ['a & b &amp; <i>', 'a &amp; b'],
    ['`<b>`', '<code>&lt;b&gt;</code>'],
  ])('%s of an agent does nothing', (text, shown) => {
    const page = htmlOf('"<t>', text);
    expect(page).toContain(shown);
    expect(page).toContain('<title>&quot;&lt;t&gt;</title>');
    const body = page.slice(page.indexOf('<main>'));
    expect(body).not.toMatch(/<script|<img|<svg|<meta|javascript:|data:|<[^>]*\son\w+=/i);
    expect(page).toContain("default-src 'none'");
  });
});
