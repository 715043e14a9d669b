import { useState } from 'preact/hooks';

/** A button that copies a text, and says whether it did. */
export function Copy({ text, name = 'copy', title = '' }: { text: () => string; name?: string; title?: string }) {
  const [said, setSaid] = useState<string | null>(null);
  const copy = () =>
    navigator.clipboard.writeText(text()).then(
      () => setSaid('copied'),
      () => setSaid('the browser refused'),
    );
  return (
    <button type="button" title={title} onClick={copy} onBlur={() => setSaid(null)}>
      {said ?? name}
    </button>
  );
}
