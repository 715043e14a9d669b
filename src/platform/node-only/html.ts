import { createHash } from 'node:crypto';

/** Returns a text as HTML shows it, in an element or an attribute. */
export function escapedHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Returns the hash by which a content security policy allows a script or a style. */
export function policyHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** Returns an HTML document that may do only what its content security policy allows. */
export function htmlDocument(parts: {
  title: string;
  policy: string;
  style: string;
  /** More elements of the head. */
  head?: string;
  body: string;
}): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${parts.policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapedHtml(parts.title)}</title>
${parts.head ?? ''}<style>${parts.style}</style>
</head>
<body>
${parts.body}
</body>
</html>
`;
}
