import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** What is there only once one asks for it: a closed part of a long session would hold thousands of elements. */
export function Fold({
  title,
  isOpen = false,
  children,
}: {
  title: string;
  isOpen?: boolean;
  children: () => ComponentChildren;
}) {
  const [opened, setOpened] = useState(isOpen);
  return (
    <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>{title}</summary>
      {opened ? children() : null}
    </details>
  );
}
