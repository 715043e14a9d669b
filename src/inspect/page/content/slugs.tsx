/** What happened, in the words of the slugs. */
export function Slugs({ of }: { of: readonly string[] }) {
  return of.map((slug) => (
    <span class="slug" key={slug}>
      {slug}
    </span>
  ));
}
