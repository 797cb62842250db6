import {render} from "preact";
import {followEvents} from "./api";
import {html} from "./html";
import {followLinks} from "./route";
import {Shell} from "./shell";

followLinks();
followEvents();
render(html`<${Shell} />`, document.getElementById("page")!);
