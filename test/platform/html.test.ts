import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { replace } from '../../src/agent/guardrails.ts';
import { escapedHtml, htmlDocument, policyHash } from '../../src/platform/node-only/html.ts';

describe('a page', () => {
  const page = (more: object = {}) =>
    htmlDocument({
      title: '<b> & "c"',
      policy: "default-src 'none'",
      style: 'p { top: 0 }',
      body: '<p>x</p>',
      ...more,
    });

  it('shows texts as texts, in elements and in attributes', () => {
    expect(escapedHtml('<a href="x">&amp;</a>')).toBe('&lt;a href=&quot;x&quot;&gt;&amp;amp;&lt;/a&gt;');
    expect(page()).toContain('<title>&lt;b&gt; &amp; &quot;c&quot;</title>');
  });

  it('may do only what its policy allows, and tells no other page where it was', () => {
    expect(page()).toContain(`<meta http-equiv="content-security-policy" content="default-src 'none'">`);
    expect(page()).toContain('<meta name="referrer" content="no-referrer">');
    const hash = createHash('sha256').update('é').digest('base64');
    expect(policyHash('é')).toBe(`sha256-${hash}`);
  });

  it('has its style, its elements and what its head needs besides', () => {
    expect(page()).toMatch(/^<!doctype html>\n/);
    expect(page()).toContain('</title>\n<style>p { top: 0 }</style>\n</head>\n<body>\n<p>x</p>\n</body>');
    expect(page({ head: '<link>' })).toContain('</title>\n<link><style>');
  });
});

describe('small parts', () => {
  it('G-1: a check can replace what it was given', () => {
    expect(replace('other')).toEqual({ allow: true, value: 'other' });
  });

  it('the digest of a text is that of its UTF-8', () => {});
});
