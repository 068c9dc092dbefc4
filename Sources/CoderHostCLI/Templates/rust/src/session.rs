//! The common duties of coders: order of calls, sticky errors, limits, cancellation.

use crate::cpi::{self, Status};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The state of a session in the order of calls; [`call`] takes a set of states.
pub const OPENED: u32 = 1;
pub const SOURCED: u32 = 2;
pub const HEADER: u32 = 4;
pub const FRAME: u32 = 8;
pub const DECODED: u32 = 16;
pub const BEGUN: u32 = 32;
pub const FRAMED: u32 = 64;
pub const FINISHED: u32 = 128;

/// The error that ended a session: one sentence without file name and file content.
#[derive(Clone, Copy)]
pub struct Failure {
    pub code: Status,
    pub message: &'static str,
    /// The byte position in the input, if known.
    pub offset: u64,
    /// With `LIMIT`: the limit, the allowed and the requested value.
    pub limit: (u32, u64, u64),
}

impl Failure {
    pub fn new(code: Status, message: &'static str) -> Failure {
        Failure { code, message, offset: 0, limit: (0, 0, 0) }
    }

    pub fn at(code: Status, offset: u64, message: &'static str) -> Failure {
        Failure { code, message, offset, limit: (0, 0, 0) }
    }

    pub fn limit(id: u32, allowed: u64, requested: u64) -> Failure {
        let message = "the image is larger than the limits allow";
        Failure { code: cpi::LIMIT, message, offset: 0, limit: (id, allowed, requested) }
    }

    unsafe fn report(&self, error: *mut cpi::Error) -> Status {
        let mut mine: cpi::Error = std::mem::zeroed();
        mine.size = std::mem::size_of::<cpi::Error>() as u32;
        mine.code = self.code;
        mine.input_offset = self.offset;
        (mine.limit_id, mine.limit_allowed, mine.limit_requested) = self.limit;
        // The text always ends with NUL.
        let count = self.message.len().min(mine.message.len() - 1);
        mine.message[..count].copy_from_slice(&self.message.as_bytes()[..count]);
        if self.code == cpi::UNSUPPORTED {
            let count = self.message.len().min(mine.feature.len() - 1);
            mine.feature[..count].copy_from_slice(&self.message.as_bytes()[..count]);
        }
        cpi::copy_struct(error, &mine);
        self.code
    }
}

pub type Answer = Result<Status, Failure>;

/// The common fields of both kinds of session.
pub struct Base {
    services: *const cpi::Services,
    pub limits: cpi::Limits,
    pub state: u32,
    failure: Option<Failure>,
}

impl Base {
    /// Call it every 64 rows: the user can cancel, and the time limit can pass.
    pub fn ask_to_go_on(&self, row: u32, rows: u32) -> Result<(), Failure> {
        if row % 64 != 0 {
            return Ok(());
        }
        // The services of the host stay valid until close.
        let answer = unsafe { ((*self.services).poll)((*self.services).ctx) };
        if answer != cpi::OK {
            let code = if answer < 0 { answer } else { cpi::CANCELLED };
            return Err(Failure::new(code, "the host asked to stop"));
        }
        unsafe { ((*self.services).progress)((*self.services).ctx, row as u64, rows as u64) };
        Ok(())
    }

    pub fn check_size(&self, width: u32, height: u32) -> Result<(), Failure> {
        let limits = &self.limits;
        let pixels = width as u64 * height as u64;
        for (id, allowed, requested) in [
            (cpi::LIMIT_WIDTH, limits.max_width as u64, width as u64),
            (cpi::LIMIT_HEIGHT, limits.max_height as u64, height as u64),
            (cpi::LIMIT_PIXELS, limits.max_pixels, pixels),
        ] {
            if allowed != 0 && requested > allowed {
                return Err(Failure::limit(id, allowed, requested));
            }
        }
        Ok(())
    }
}

/// A session of `T`, in memory that the host allocated and counts.
pub struct Session<T> {
    base: Base,
    own: T,
}

/// Opens a session.
///
/// # Safety
/// The pointers must satisfy the contract of `open`.
pub unsafe fn open<T>(
    services: *const cpi::Services, limits: *const cpi::Limits, options: *const cpi::Options,
    session: *mut *mut cpi::Session, error: *mut cpi::Error, own: T,
) -> Status {
    if let Err(failure) = check_options(options) {
        return failure.report(error);
    }
    let size = std::mem::size_of::<Session<T>>() as u64;
    let memory = ((*services).allocate)((*services).ctx, size) as *mut Session<T>;
    if memory.is_null() {
        return Failure::new(cpi::NO_MEMORY, "there is no memory for a session").report(error);
    }
    let base = Base { services, limits: cpi::read_struct(limits), state: OPENED, failure: None };
    memory.write(Session { base, own });
    *session = memory as *mut cpi::Session;
    cpi::OK
}

/// For your own options, add a schema to the manifest and compare the key here.
unsafe fn check_options(options: *const cpi::Options) -> Result<(), Failure> {
    if options.is_null() {
        return Ok(());
    }
    for index in 0..(*options).count as usize {
        let place = ((*options).items as *const u8).add(index * (*options).stride as usize);
        if (*(place as *const cpi::CoderOption)).flags & cpi::OPTION_HINT == 0 {
            return Err(Failure::new(cpi::INVALID_ARGUMENT, "there is no option of that name"));
        }
    }
    Ok(())
}

/// Ends a session in any state.
///
/// # Safety
/// `session` came from [`open`] with the same `T`.
pub unsafe fn close<T>(session: *mut cpi::Session) {
    let session = session as *mut Session<T>;
    let services = (*session).base.services;
    let _ = catch_unwind(AssertUnwindSafe(|| std::ptr::drop_in_place(session)));
    ((*services).release)((*services).ctx, session as *mut std::ffi::c_void);
}

/// All calls go through this function. A failed session repeats its error. A call out of order and a panic fail the
/// session, because nothing may unwind into the host.
///
/// # Safety
/// `session` came from [`open`] with the same `T`; `error` is the contract's.
pub unsafe fn call<T>(
    session: *mut cpi::Session, states: u32, error: *mut cpi::Error, body: impl FnOnce(&mut Base, &mut T) -> Answer,
) -> Status {
    let session = &mut *(session as *mut Session<T>);
    if let Some(failure) = session.base.failure {
        return failure.report(error);
    }
    let answer = if session.base.state & states == 0 {
        Err(Failure::new(cpi::MISUSE, "the call is out of order"))
    } else {
        catch_unwind(AssertUnwindSafe(|| body(&mut session.base, &mut session.own)))
            .unwrap_or(Err(Failure::new(cpi::INTERNAL, "the coder has a fault")))
    };
    answer.unwrap_or_else(|failure| {
        // A refused request does not change the session.
        if failure.code < 0 {
            session.base.failure = Some(failure);
        }
        failure.report(error)
    })
}
