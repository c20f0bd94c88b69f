//! Headless Chromium, driven by its DevTools protocol over a pipe: what a reader of the report page
//! sees and does.
//! <https://chromedevtools.github.io/devtools-protocol/>

use crate::{DEADLINE, require};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use tempfile::TempDir;

/// Ends each message.
const END: u8 = 0;

/// Chromium reads from descriptor 3 and writes to descriptor 4; a shell moves the pipes there, and
/// removes the browser's folder once the browser has ended, even if the tests are over by then.
const ON_PIPES: &str = r#"folder=$0; "$@" 3<&0 4>&1 </dev/null >/dev/null; rm -rf "$folder""#;

/// What the browser ends its requests with whenever the machine has a new interface.
const NETWORK_CHANGED: &str = "net::ERR_NETWORK_CHANGED";

/// Browsers at once. Each draws in software, and the page of a run that goes on is drawn every
/// second: with a dozen of them a test that takes a second alone takes thirty.
const BROWSERS: usize = 3;

/// How many more browsers may be used now.
static FREE: Mutex<usize> = Mutex::new(BROWSERS);
static FREED: Condvar = Condvar::new();

/// Browsers that no test uses now. They end with this process, which closes their pipes.
static IDLE: Mutex<Vec<Chromium>> = Mutex::new(Vec::new());

/// A window of its own, which shares no cookie or storage with others, with one page or several.
/// When it is dropped its browser goes to the next test, since to start one takes a second of CPU
/// time. A test that has one must not start another: such tests could wait for each other.
pub struct Browser {
    /// `None` once it is dropped.
    chromium: Option<Chromium>,
    context: String,
    /// The session of the current page; empty until there is one.
    session: String,
    events: Vec<Value>,
    _permit: Permit,
}

/// One of the browsers at once.
struct Permit;

/// A process of Chromium. Killed when dropped.
struct Chromium {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    reader: Option<JoinHandle<()>>,
    last_call: u64,
    stderr: File,
    _folder: TempDir,
}

impl Browser {
    /// Opens a window, once other tests have closed enough of theirs; `None` if the browser is not
    /// installed, see [`crate::require()`].
    ///
    /// # Panics
    /// If it does not answer.
    #[must_use]
    pub fn start() -> Option<Browser> {
        let program = require("chromium")?;
        let permit = Permit::wait();
        let chromium = Chromium::idle().unwrap_or_else(|| Chromium::start(&program));
        let mut browser = Browser {
            chromium: Some(chromium),
            context: String::new(),
            session: String::new(),
            events: Vec::new(),
            _permit: permit,
        };
        let context = browser.call("Target.createBrowserContext", &json!({}));
        text(&context["browserContextId"]).clone_into(&mut browser.context);
        // All messages about earlier windows have arrived.
        browser.chromium().messages.try_iter().for_each(drop);
        browser.events.clear();
        browser.add_page();
        Some(browser)
    }

    fn chromium(&mut self) -> &mut Chromium {
        self.chromium.as_mut().expect("it is not dropped yet")
    }

    /// Opens another page, which becomes the current one, and returns its name for
    /// [`Browser::turn_to`].
    ///
    /// # Panics
    /// If it does not open.
    pub fn add_page(&mut self) -> String {
        self.session.clear();
        let blank = json!({ "url": "about:blank", "browserContextId": self.context });
        let page = self.call("Target.createTarget", &blank);
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", &attach);
        text(&attached["sessionId"]).clone_into(&mut self.session);
        for domain in ["Page", "Runtime", "Log", "Performance"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        self.session.clone()
    }

    /// Makes another page the current one.
    pub fn turn_to(&mut self, page: &str) {
        page.clone_into(&mut self.session);
    }

    /// Calls a method of the protocol and returns its result.
    ///
    /// # Panics
    /// If it fails, or does not return.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let mut message = json!({ "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let id = self.chromium().send(message);
        loop {
            let answer = self.chromium().message(method);
            if answer["id"] != json!(id) {
                self.events.push(answer);
                continue;
            }
            assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
            return answer["result"].clone();
        }
    }

    /// Shows a file in a window `width` pixels wide, and waits until it is loaded. Forgets the
    /// previous page's complaints.
    ///
    /// # Panics
    /// If it does not load.
    pub fn open(&mut self, file: &Path, width: u32) {
        self.visit(&format!("file://{}", file.display()), width);
    }

    /// Does the same for an address.
    ///
    /// # Panics
    /// If it does not load.
    pub fn visit(&mut self, url: &str, width: u32) {
        let size = json!({
            "width": width,
            "height": 900,
            "deviceScaleFactor": 1,
            "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let session = self.session.clone();
        self.events.retain(|event| event["sessionId"] != session);
        let opened = self.call("Page.navigate", &json!({ "url": url }));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
        let is_loaded = |event: &Value| {
            event["sessionId"] == session && event["method"] == "Page.loadEventFired"
        };
        while !self.events.iter().any(is_loaded) {
            let event = self.chromium().message("the page to load");
            self.events.push(event);
        }
    }

    /// The value of an expression in the page.
    ///
    /// # Panics
    /// If it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({
            "expression": expression,
            "returnByValue": true,
            "awaitPromise": true,
        });
        let answer = self.call("Runtime.evaluate", &parameters);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].clone()
    }

    /// The value of an expression that is a number.
    ///
    /// # Panics
    /// If it is not.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        let number = value.as_f64();
        number.unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// The value of an expression that is text.
    ///
    /// # Panics
    /// If it is not.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        let found = value.as_str().map(str::to_owned);
        found.unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Moves, presses or releases the pointer at a place in the window; `kind` is `mouseMoved`,
    /// `mousePressed` or `mouseReleased`.
    pub fn pointer(&mut self, kind: &str, place: (f64, f64), clicks: u32) {
        let button = if clicks == 0 { "none" } else { "left" };
        let parameters = json!({
            "type": kind,
            "x": place.0,
            "y": place.1,
            "button": button,
            "buttons": u32::from(clicks > 0 && kind != "mouseReleased"),
            "clickCount": clicks,
        });
        self.call("Input.dispatchMouseEvent", &parameters);
    }

    /// Errors, warnings and messages of the page since it was opened, including refused scripts and
    /// styles.
    pub fn complaints(&mut self) -> Vec<String> {
        // All messages arrive before this answer.
        self.value("0");
        let is_complaint = |event: &&Value| {
            let method = text(&event["method"]);
            event["sessionId"] == self.session
                && [
                    "Log.entryAdded",
                    "Runtime.exceptionThrown",
                    "Runtime.consoleAPICalled",
                    "Page.javascriptDialogOpening",
                ]
                .contains(&method)
        };
        let complaints = self.events.iter().filter(is_complaint);
        let told = complaints.map(|event| event["params"].to_string());
        told.filter(|told| !told.contains(NETWORK_CHANGED))
            .collect()
    }

    /// Whether requests failed because another test made an interface. They are no complaints.
    pub fn lost_its_network(&mut self) -> bool {
        // All messages arrive before this answer.
        self.value("0");
        let mut events = self.events.iter();
        events.any(|event| event.to_string().contains(NETWORK_CHANGED))
    }

    /// Seconds of script time since the page was opened.
    ///
    /// # Panics
    /// If the browser does not say.
    pub fn script_seconds(&mut self) -> f64 {
        let metrics = self.call("Performance.getMetrics", &json!({}));
        let metrics = metrics["metrics"].as_array().expect("a list");
        let is_script = |metric: &&Value| metric["name"] == "ScriptDuration";
        let script = metrics.iter().find(is_script).expect("a known metric");
        script["value"].as_f64().expect("a number")
    }

    /// The page as PDF.
    ///
    /// # Panics
    /// If it cannot be printed.
    pub fn pdf(&mut self) -> Vec<u8> {
        let printed = self.call("Page.printToPDF", &json!({}));
        STANDARD.decode(text(&printed["data"])).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // the browser may be what failed
        }
        self.session.clear();
        let context = json!({ "browserContextId": self.context });
        self.call("Target.disposeBrowserContext", &context);
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.chromium.take());
    }
}

impl Permit {
    fn wait() -> Permit {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let free = FREED.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Permit
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        FREED.notify_one();
    }
}

impl Chromium {
    /// One that no test uses, if there is any; those that have ended since are dropped.
    fn idle() -> Option<Chromium> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain_mut(|known| matches!(known.child.try_wait(), Ok(None)));
        idle.pop()
    }

    fn start(program: &Path) -> Chromium {
        let folder = tempfile::tempdir().unwrap();
        // It outlives the folder.
        let stderr = tempfile::tempfile().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", ON_PIPES]).arg(folder.path());
        command.arg(program).args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-extensions",
        ]);
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox"); // it refuses to run without this flag
        }
        command
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone().unwrap());
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().expect("it is piped");
        let (sender, messages) = channel();
        let reader = std::thread::spawn(move || {
            read_messages(output, |message| sender.send(message).is_ok());
        });
        Chromium {
            input: child.stdin.take().expect("it is piped"),
            child,
            messages,
            reader: Some(reader),
            last_call: 0,
            stderr,
            _folder: folder,
        }
    }

    /// Sends a call, and returns its number.
    fn send(&mut self, mut call: Value) -> u64 {
        self.last_call += 1;
        call["id"] = json!(self.last_call);
        let mut bytes = call.to_string().into_bytes();
        bytes.push(END);
        if let Err(error) = self.input.write_all(&bytes) {
            panic!("{call}: {error}; chromium: {:?}", self.said());
        }
        self.last_call
    }

    fn message(&mut self, wanted: &str) -> Value {
        self.messages.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            let said = self.said();
            panic!("waited {DEADLINE:?} for {wanted}; chromium: {said:?}")
        })
    }

    /// What it wrote to standard error.
    fn said(&mut self) -> String {
        let mut said = String::new();
        let read = self.stderr.rewind();
        let read = read.and_then(|()| self.stderr.read_to_string(&mut said));
        read.map_or_else(|error| error.to_string(), |_| said)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The browser is in the group of its shell. The kill fails only if both have ended.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        // Its child processes hold the other end of the pipe, and end with it.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Passes on each message, until the browser has ended or `take` returns false.
fn read_messages(output: ChildStdout, mut take: impl FnMut(Value) -> bool) {
    let mut output = BufReader::new(output);
    let mut bytes = Vec::new();
    while output
        .read_until(END, &mut bytes)
        .is_ok_and(|read| read > 0)
    {
        bytes.pop();
        let message = serde_json::from_slice(&bytes).expect("chromium writes JSON");
        if !take(message) {
            return;
        }
        bytes.clear();
    }
}
