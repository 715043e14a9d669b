type Props = { label: string; placeholder: string; value: string; take: (value: string) => void };

/** A field for a line of text. */
export function Field({ label, placeholder, value, take }: Props) {
  return (
    <input
      type="text"
      placeholder={placeholder}
      aria-label={label}
      value={value}
      onInput={(event) => take(event.currentTarget.value)}
    />
  );
}
