import { useState } from 'preact/hooks';
import { tame } from '../../../platform/text.ts';
import { Fold } from './fold.tsx';
import { Prose } from './prose.tsx';

/** Members that are shown before one asks for more, and how many more. */
const mostMembers = 100;
/** Members of an object within another that open by themselves. */
const mostOpened = 30;
/** Characters of an object that is shown in one line. */
const mostInLine = 90;

/** JSON, object by object: those inside another's second level open when one asks for them. */
export function JsonTree({ value }: { value: unknown }) {
  return (
    <div class="json">
      <Value value={value} label="" depth={0} />
    </div>
  );
}

type Props = { value: unknown; label: string; depth: number };

function Value({ value, label, depth }: Props) {
  if (typeof value === 'string' && (value.includes('\n') || value.length > 120))
    return (
      <div>
        {label}
        <Prose text={value} />
      </div>
    );
  if (typeof value !== 'object' || value === null)
    return (
      <div class="leaf">
        {label}
        <span class={value === null ? 'null' : typeof value}>{tame(JSON.stringify(value) ?? 'undefined')}</span>
      </div>
    );
  const members = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const line = inOneLine(value, members);
  if (line !== null) return <div class="leaf">{`${label}${tame(line)}`}</div>;
  const count = `${members.length} ${Array.isArray(value) ? 'item' : 'field'}${members.length === 1 ? '' : 's'}`;
  const isOpen = depth === 0 || (depth < 3 && members.length <= mostOpened);
  return (
    <Fold title={`${label}${open} ${count} ${close}`} isOpen={isOpen}>
      {() => <Members members={members} isList={Array.isArray(value)} depth={depth + 1} />}
    </Fold>
  );
}

/** What has only a few short values, as a line; null for anything else. */
function inOneLine(value: object, members: [string, unknown][]): string | null {
  if (members.length > 8 || members.some(([, one]) => typeof one === 'object' && one !== null)) return null;
  const texts = members.map(([name, one]) => {
    const text = JSON.stringify(one) ?? 'undefined';
    return Array.isArray(value) ? text : `${JSON.stringify(name)}: ${text}`;
  });
  const [open, close] = Array.isArray(value) ? ['[', ']'] : texts.length === 0 ? ['{', '}'] : ['{ ', ' }'];
  const line = `${open}${texts.join(', ')}${close}`;
  return line.length > mostInLine || line.includes('\\n') ? null : line;
}

type MembersProps = { members: [string, unknown][]; isList: boolean; depth: number };

function Members({ members, isList, depth }: MembersProps) {
  const [count, setCount] = useState(mostMembers);
  return (
    <div class="members">
      {members.slice(0, count).map(([name, value]) => (
        <Value key={name} value={value} label={isList ? '' : `${tame(JSON.stringify(name))}: `} depth={depth} />
      ))}
      {members.length <= count ? null : (
        <button type="button" class="more" onClick={() => setCount(count + mostMembers)}>
          {`${members.length - count} more: show ${Math.min(mostMembers, members.length - count)}`}
        </button>
      )}
    </div>
  );
}
