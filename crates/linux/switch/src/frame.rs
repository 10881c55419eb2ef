/// A frame that a fabric holds. Valid until it is released.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId(u32);

/// The bytes of all frames that a fabric holds, in buffers that are used again.
#[derive(Clone, Debug)]
pub struct Frames {
    buffers: Vec<Vec<u8>>,
    free: Vec<u32>,
    most: usize,
}

impl Frames {
    /// Room for `most` frames; nothing is allocated before it is needed.
    pub fn new(most: usize) -> Self {
        Self { buffers: Vec::new(), free: Vec::new(), most }
    }

    /// Keeps a copy of `bytes`; `None` if there is no room.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Option<FrameId> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.buffers.len() < self.most => self.grow(),
            None => return None,
        };
        let buffer = &mut self.buffers[index as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        Some(FrameId(index))
    }

    /// Keeps a copy of `bytes` of the switch's own, for which there is always room.
    pub fn put_own(&mut self, bytes: &[u8]) -> FrameId {
        if let Some(frame) = self.put(bytes) {
            return frame;
        }
        let index = self.grow();
        self.buffers[index as usize].extend_from_slice(bytes);
        FrameId(index)
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.buffers.push(Vec::new());
        self.buffers.len() as u32 - 1
    }

    /// A second frame with the same bytes; `None` if there is no room.
    pub fn copy(&mut self, frame: FrameId) -> Option<FrameId> {
        let bytes = core::mem::take(&mut self.buffers[frame.0 as usize]);
        let copy = self.put(&bytes);
        self.buffers[frame.0 as usize] = bytes;
        copy
    }

    /// The bytes of a frame.
    #[inline]
    pub fn bytes(&self, frame: FrameId) -> &[u8] {
        &self.buffers[frame.0 as usize]
    }

    /// The bytes of a frame, to rewrite them.
    #[inline]
    pub fn bytes_mut(&mut self, frame: FrameId) -> &mut Vec<u8> {
        &mut self.buffers[frame.0 as usize]
    }

    /// Gives the frame's buffer back.
    #[inline]
    pub fn release(&mut self, frame: FrameId) {
        debug_assert!(!self.free.contains(&frame.0), "{frame:?} is released twice");
        self.free.push(frame.0);
    }

    /// Frames held.
    pub fn held(&self) -> usize {
        self.buffers.len() - self.free.len()
    }
}
