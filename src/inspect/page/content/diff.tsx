const kinds: Record<string, string> = { '+': 'added', '-': 'gone', '@': 'hunk' };

/** A change in the unified format, line by line. */
export function Diff({ text }: { text: string }) {
  return (
    <pre class="diff">
      {text.split('\n').map((line, index) => (
        <span key={index} class={kinds[line[0] ?? ''] ?? ''}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
