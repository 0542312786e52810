// -- in a page that carries its evidence ------------------------------------------------------------

const part = (name) => document.getElementById(name);

async function inflated(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function evidence() {
  const told = part("evidence").textContent;
  return unzip(await inflated(unbase64(told, null, "the page")), "the page's evidence");
}

// Refuse a page that shows something else than the report that was compared with the events,
// and show nothing but what was compared.
function checkShown(files) {
  const told = text(files.get(REPORT) ?? EMPTY).replace(/<style>[^<]*<\/style>/, "");
  const report = new DOMParser().parseFromString(told, "text/html");
  const shown = document.querySelector("main"), { run, size } = document.body.dataset;
  const same = shown.outerHTML === report.querySelector("main")?.outerHTML
    && run === report.body.dataset.run && size === report.body.dataset.size;
  const own = ["check", "", "evidence", ""], all = [...document.body.children];
  const whole = all.length === 4 && all.every((one, at) => one.id === own[at]) && all[1] === shown
    && [...document.body.childNodes].every((one) => one.nodeType === 1 || !one.data.trim());
  require(same && whole, "the page", "it does not show the report of its evidence");
  shown.replaceWith(document.importNode(report.querySelector("main"), true));
}

async function checkPage(root) {
  delete part("said").dataset.code;
  part("said").textContent = "Verifying…";
  let files;
  const [code, said] = await judged(async () => {
    files = await evidence();
    checkShown(files);
    return files;
  }, root || undefined);
  part("said").dataset.code = code;
  part("said").textContent = said;
}

part("verify").addEventListener("click", () => checkPage(part("root").value.trim()));
await checkPage("");
