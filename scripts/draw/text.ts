import { type Arrow, allNodes, type Drawing, eventText, type Node } from '../../test/graph/drawing.ts';

/** Returns a machine as a Mermaid state diagram. */
export function mermaidOf({ title, root, arrows }: Drawing): string {
  const id = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '_');
  const lines: string[] = ['---', `title: ${title}`, '---', 'stateDiagram-v2'];
  const visit = (node: Node, depth: number): void => {
    const margin = '  '.repeat(depth);
    const isWhole = node.kind === 'root';
    if (!isWhole) {
      const about = [node.key, ...node.invokes.map((invoke) => `invokes ${invoke}`), node.rules.join(' ')].filter(
        (text) => text !== '',
      );
      if (node.kind === 'compound') lines.push(`${margin}state "${node.key}" as ${id(node.id)} {`);
      else lines.push(`${margin}state "${about.join('<br/>')}" as ${id(node.id)}`);
    }
    if (node.initial !== null) lines.push(`${margin}${isWhole ? '' : '  '}[*] --> ${id(node.initial)}`);
    for (const child of node.children) visit(child, depth + 1);
    if (node.kind === 'compound') lines.push(`${margin}}`);
    if (node.kind === 'final' || node.kind === 'badEnd') lines.push(`${margin}${id(node.id)} --> [*]`);
  };
  visit(root, 0);
  for (const arrow of arrows) {
    if (arrow.source === root.id) continue;
    lines.push(`  ${id(arrow.source)} --> ${id(arrow.target ?? arrow.source)}: ${edgeText(arrow) || 'always'}`);
  }
  for (const arrow of arrows.filter((one) => one.source === root.id))
    lines.push(`  note right of ${id(root.initial ?? '')}: in every state - ${edgeText(arrow)}`);
  return `${lines.join('\n')}\n`;
}

function edgeText({ event, guard, rules, place }: Arrow): string {
  return [eventText(event), place === 'else' ? '[else]' : guard === '' ? '' : `[${guard}]`, rules.join(' ')]
    .filter((text) => text !== '')
    .join(' ')
    .replaceAll(':', ' ');
}

/** Returns a table of every event (downwards) and every state, including ignored events. */
export function tableOf({ title, description, root, arrows }: Drawing): string {
  const states = allNodes(root).filter((node) => node.children.length === 0);
  const events = [...new Set(arrows.map((arrow) => arrow.event))].toSorted(
    (one, other) => order(one) - order(other) || one.localeCompare(other),
  );
  const parents = new Map<string, string>();
  const note = (node: Node): void => {
    for (const child of node.children) {
      parents.set(child.id, node.id);
      note(child);
    }
  };
  note(root);
  const cell = (state: Node, event: string): string => {
    if (state.kind === 'final' || state.kind === 'badEnd') return event === '' ? 'final' : 'ignored';
    for (let at: string | undefined = state.id; at !== undefined; at = parents.get(at)) {
      const own = arrows.filter((arrow) => arrow.source === at && arrow.event === event);
      if (own.length > 0) return own.map(step).join('<br/>');
    }
    return event === '' ? '' : 'ignored';
  };
  const step = ({ target, guard, actions }: Arrow): string => {
    const where = target === null ? 'stays' : `→ **${target.split('.').at(-1)}**`;
    return [guard === '' ? '' : `[${guard}]`, where, actions.length === 0 ? '' : `/ ${actions.join(', ')}`]
      .filter((text) => text !== '')
      .join(' ');
  };
  const rows = events.map((event) => [
    event === '' ? 'at once' : eventText(event),
    ...states.map((state) => cell(state, event)),
  ]);
  const table = [
    ['event', ...states.map((state) => `\`${state.id.split('.').slice(1).join('.') || state.key}\``)],
    ['---', ...states.map(() => '---')],
    ...rows,
  ];
  const about = states.map(
    ({ key, description: words, rules }) =>
      `- \`${key}\`: ${words}${rules.length === 0 ? '' : ` (${rules.join(', ')})`}`,
  );
  return [
    `# ${title}`,
    description,
    table.map((row) => `| ${row.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`).join('\n'),
    about.join('\n'),
    '',
  ].join('\n\n');
}

function order(event: string): number {
  return event === '' ? 0 : event.startsWith('xstate.done') ? 1 : event.startsWith('xstate.error') ? 2 : 3;
}
