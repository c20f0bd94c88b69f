//! TUN devices, see Documentation/networking/tuntap.rst of the kernel.
#![expect(
    unsafe_code,
    reason = "rustix has no call for the one ioctl that makes a TUN device"
)]

use rustix::fs::{Mode, OFlags, open as open_file};
use rustix::io;
use rustix::ioctl::{Setter, ioctl, opcode};
use std::ffi::c_int;
use std::os::fd::OwnedFd;

/// `TUNSETIFF` of linux/if_tun.h, whose number says an `int` although it takes a `struct ifreq`.
const TUNSETIFF: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 202);

/// `IFF_TUN | IFF_NO_PI`: packets of IP, without anything before them.
const FLAGS: u16 = 0x0001 | 0x1000;

/// Bytes of a device's name, the zero at its end included (`IFNAMSIZ`).
const NAME_BYTES: usize = 16;

/// `struct ifreq` of linux/if.h, with that member of its union which this request reads.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_BYTES],
    flags: u16,
    rest: [u8; 22],
}

/// Makes a device of this name in the namespace of the calling thread. It exists as long as its
/// descriptor, which does not block.
pub(super) fn open(name: &str) -> io::Result<OwnedFd> {
    assert!(name.len() < NAME_BYTES, "{name} is too long for a device");
    let mut request = InterfaceRequest {
        name: [0; NAME_BYTES],
        flags: FLAGS,
        rest: [0; 22],
    };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    let device = open_file(
        "/dev/net/tun",
        OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    // SAFETY: the request is a complete `struct ifreq` of 40 bytes, which is all the kernel copies,
    // and it outlives the call.
    unsafe { ioctl(&device, Setter::<TUNSETIFF, InterfaceRequest>::new(request))? };
    Ok(device)
}
